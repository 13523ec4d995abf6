package mobilebert.ktx

import android.content.Context
import java.io.File
import kotlinx.coroutines.ExperimentalCoroutinesApi
import kotlinx.coroutines.flow.Flow
import kotlinx.coroutines.flow.distinctUntilChanged
import kotlinx.coroutines.flow.mapLatest
import mobilebert.runtime.Cancellation
import mobilebert.runtime.FaqAnswer
import mobilebert.runtime.FaqEntry
import mobilebert.runtime.FaqStore
import mobilebert.runtime.ModelOptions

/** What was asked, and the questions that fit it, best first. */
public data class Answers(val query: String, val found: List<FaqAnswer>)

/**
 * Questions with their answers, kept on the phone, and which of them a text asks. An interface, so that a test of an app
 * can put another in its place. Coroutines may share one; a cancelled call ends after the inference it is in.
 */
public interface Faq : AutoCloseable {
    /** Number of questions. */
    public val size: Int

    /** Ids of all questions, sorted. */
    public val ids: List<String>

    /** The question of an id; null where there is none. */
    public operator fun get(id: String): FaqEntry?

    /** The questions that fit a text best; none for a text without words. */
    public suspend fun ask(text: String, most: Int = MOST): Answers

    /** Answers to a text as it is typed: the last one alone, each new one ends the search for the one before. */
    public fun answers(texts: Flow<String>, most: Int = MOST): Flow<Answers>

    /** Adds questions, or changes those whose ids are there, and saves. */
    public suspend fun put(questions: FaqBuilder.() -> Unit)

    /** Removes a question and saves; was it there? */
    public suspend fun remove(id: String): Boolean

    /** Takes the texts of an index that Python's `Index.save` wrote with the same artefact, and saves. */
    public suspend fun add(index: File)

    public companion object {
        /** Answers of a call that does not say how many. */
        public const val MOST: Int = 3

        /** The artefact that `mobilebert-runtime-model-open-m` brings. */
        public const val MODEL: String = "matcher-open-m"

        /**
         * Opens the questions that were saved by a name, and makes them those of the block where there is one: a question
         * whose text is as it was takes no inference, and one that is not in the block is removed.
         *
         * @param artefact folder of the app's assets whose network has vectors
         */
        public suspend fun open(
            context: Context,
            artefact: String = MODEL,
            name: String = "faq",
            options: ModelOptions = ModelOptions(),
            questions: (FaqBuilder.() -> Unit)? = null,
        ): Faq = open(questions) { FaqStore.open(context, artefact, name, options) }

        /** The same with an artefact folder and a place anywhere. */
        public suspend fun open(
            artefact: File,
            place: File,
            options: ModelOptions = ModelOptions(),
            questions: (FaqBuilder.() -> Unit)? = null,
        ): Faq = open(questions) { FaqStore.open(artefact, place, options) }

        private suspend fun open(questions: (FaqBuilder.() -> Unit)?, load: () -> FaqStore): Faq {
            val wanted = questions?.let { FaqBuilder().apply(it).entries }
            return inference { cancellation ->
                val store = load()
                try {
                    wanted?.let { store.become(it, cancellation) }
                    StoredFaq(store)
                } catch (failure: Throwable) {
                    store.close()
                    throw failure
                }
            }
        }
    }
}

/** Collects questions. */
public class FaqBuilder internal constructor() {
    internal val entries = LinkedHashMap<String, FaqEntry>()

    /** A question with its answer, or any payload; of several with one id the last one counts. */
    public fun put(id: String, question: String, answer: String? = null) {
        entries[id] = FaqEntry(id, question, answer)
    }
}

private fun FaqStore.become(wanted: Map<String, FaqEntry>, cancellation: Cancellation) {
    (ids() - wanted.keys).forEach(::remove)
    wanted.values.forEach { put(it, cancellation) }
    save()
}

private const val CANDIDATES = 10

private class StoredFaq(private val store: FaqStore) : Faq {
    override val size: Int get() = store.size()

    override val ids: List<String> get() = store.ids()

    override fun get(id: String): FaqEntry? = store.get(id)

    override suspend fun ask(text: String, most: Int): Answers =
        if (text.isBlank()) Answers(text, emptyList())
        else inference { Answers(text, store.ask(text, CANDIDATES, most, it)) }

    @OptIn(ExperimentalCoroutinesApi::class)
    override fun answers(texts: Flow<String>, most: Int): Flow<Answers> =
        texts.distinctUntilChanged().mapLatest { ask(it, most) }

    override suspend fun put(questions: FaqBuilder.() -> Unit) {
        val wanted = FaqBuilder().apply(questions).entries.values
        inference { cancellation ->
            wanted.forEach { store.put(it, cancellation) }
            store.save()
        }
    }

    override suspend fun remove(id: String): Boolean = inference { store.remove(id).also { store.save() } }

    override suspend fun add(index: File) {
        inference {
            store.add(index)
            store.save()
        }
    }

    override fun close() {
        store.close()
    }
}
