package mobilebert.ktx

import kotlinx.coroutines.CoroutineStart
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.async
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.launch
import kotlinx.coroutines.suspendCancellableCoroutine
import mobilebert.runtime.Cancellation

/**
 * Runs blocking work of the library away from the caller's thread. Whoever cancels the coroutine cancels the work at once;
 * it ends after the inference it is in, and until then this function does not return.
 */
internal suspend fun <T> inference(work: (Cancellation) -> T): T = coroutineScope {
    val cancellation = Cancellation()
    val result = async(Dispatchers.Default) { work(cancellation) }
    val watch = launch(start = CoroutineStart.UNDISPATCHED) {
        suspendCancellableCoroutine<Unit> { it.invokeOnCancellation { cancellation.cancel() } }
    }
    try {
        result.await()
    } finally {
        watch.cancel()
    }
}
