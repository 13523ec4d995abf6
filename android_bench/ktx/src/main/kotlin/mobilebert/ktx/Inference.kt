package mobilebert.ktx

import kotlinx.coroutines.CancellationException
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.async
import kotlinx.coroutines.coroutineScope
import mobilebert.runtime.Cancellation

/**
 * Runs blocking work of the library away from the caller's thread. A cancelled coroutine cancels the work, which ends
 * after the inference it is in; until then this function does not return.
 */
internal suspend fun <T> inference(work: (Cancellation) -> T): T = coroutineScope {
    val cancellation = Cancellation()
    val result = async(Dispatchers.Default) { work(cancellation) }
    try {
        result.await()
    } catch (cancelled: CancellationException) {
        cancellation.cancel()
        throw cancelled
    }
}
