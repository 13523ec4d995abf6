package mobilebert.ktx

import java.io.File
import java.util.concurrent.CountDownLatch
import java.util.concurrent.TimeUnit
import java.util.concurrent.atomic.AtomicInteger
import kotlin.coroutines.cancellation.CancellationException
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.async
import kotlinx.coroutines.awaitAll
import kotlinx.coroutines.channels.Channel
import kotlinx.coroutines.flow.consumeAsFlow
import kotlinx.coroutines.flow.flowOf
import kotlinx.coroutines.flow.toList
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking
import kotlinx.coroutines.yield
import mobilebert.runtime.ArtefactCard
import mobilebert.runtime.ArtefactException
import mobilebert.runtime.Backend
import mobilebert.runtime.FaqEntry
import mobilebert.runtime.ModelOptions
import mobilebert.runtime.Network
import mobilebert.runtime.TextEncoder
import org.junit.Assert.assertEquals
import org.junit.Assert.assertFalse
import org.junit.Assert.assertNull
import org.junit.Assert.assertThrows
import org.junit.Assert.assertTrue
import org.junit.Rule
import org.junit.Test
import org.junit.rules.TemporaryFolder

/**
 * Promise: questions in five lines, asked from coroutines; the last text that was typed is answered, and a cancelled call
 * ends. The artefact is real; the network is a sum over the ids that counts its inferences and can be held up.
 */
public class FaqTest {
    @get:Rule public val temporary: TemporaryFolder = TemporaryFolder()

    private val artefact = File(System.getProperty("golden"))
    private val inferences = AtomicInteger()
    private val closed = AtomicInteger()

    /** What the next inferences wait for; none where it is null. */
    @Volatile private var gate: CountDownLatch? = null
    private val waiting = CountDownLatch(1)

    private val options = ModelOptions().backend(
        object : Backend {
            override fun open(folder: File, card: ArtefactCard, threads: Int): Network = Sums(card)
        },
    )

    private inner class Sums(private val card: ArtefactCard) : Network {
        override fun runtime() = "sums"

        override fun run(input: TextEncoder.Encoded): Array<FloatArray> {
            inferences.incrementAndGet()
            gate?.let {
                waiting.countDown()
                assertTrue(it.await(60, TimeUnit.SECONDS))
            }
            val vector = FloatArray(card.embeddingSize)
            for (i in 0 until input.tokens) {
                vector[input.inputIds[i] % vector.size] += 1f
            }
            return arrayOf(floatArrayOf(vector[0] - vector[1]), vector)
        }

        override fun close() {
            closed.incrementAndGet()
        }
    }

    private val place get() = File(temporary.root, "faq")

    private suspend fun open(questions: (FaqBuilder.() -> Unit)? = null) = Faq.open(artefact, place, options, questions)

    private fun FaqBuilder.putAll() {
        put("password", "How do I reset my password?", "Settings.")
        put("refund", "When do I get my money back?", "In five days.")
        put("hours", "When are you open?")
    }

    @Test
    public fun questionsArePutAskedAndKept(): Unit = runBlocking {
        open { putAll() }.use { faq ->
            assertEquals(listOf("hours", "password", "refund"), faq.ids)
            val answers = faq.ask("How do I reset my password?")
            assertEquals("How do I reset my password?", answers.query)
            assertEquals(3, answers.found.size)
            assertEquals(answers.found.sortedByDescending { it.score }, answers.found)
            assertEquals(FaqEntry("password", "How do I reset my password?", "Settings."), faq["password"])
            assertEquals(1, faq.ask("password", most = 1).found.size)
            assertTrue(faq.ask("  ").found.isEmpty())
        }
        assertEquals(1, closed.get())
        inferences.set(0)
        open { putAll() }.use { assertEquals(3, it.size) }
        assertEquals("the texts are as they were", 0, inferences.get())
        open {
            putAll()
            put("hours", "When do you open?")
            put("password", "How do I reset my password?", "Account.")
        }.use { assertEquals("Account.", it["password"]?.payload) }
        assertEquals("one text is another", 1, inferences.get())
        open { put("refund", "When do I get my money back?", "In five days.") }.use { assertEquals(listOf("refund"), it.ids) }
        open().use {
            assertEquals(listOf("refund"), it.ids)
            it.put { put("new", "Is there anything new?") }
            assertTrue(it.remove("refund"))
            assertFalse(it.remove("refund"))
        }
        open().use {
            assertEquals(listOf("new"), it.ids)
            assertNull(it["refund"])
        }
    }

    @Test
    public fun theLastTextAloneIsAnswered(): Unit = runBlocking {
        open { putAll() }.use { faq ->
            val held = CountDownLatch(1)
            gate = held
            val typed = Channel<String>(Channel.UNLIMITED)
            // On this thread, which the collector gets when it is given up: it takes what was typed before the gate opens.
            val found = async { faq.answers(typed.consumeAsFlow()).toList() }
            typed.send("h")
            while (waiting.count > 0) yield()
            listOf("ho", "how", "how do I reset").forEach { typed.send(it) }
            typed.close()
            repeat(100) { yield() }
            gate = null
            held.countDown()
            val answers = found.await()
            assertEquals("how do I reset", answers.last().query)
            assertFalse(answers.any { it.query == "h" })
            inferences.set(0)
            assertEquals(1, faq.answers(flowOf("same", "same", "same")).toList().size)
        }
    }

    @Test
    public fun aCancelledCallEndsAfterItsInference(): Unit = runBlocking {
        open { putAll() }.use { faq ->
            val held = CountDownLatch(1)
            gate = held
            inferences.set(0)
            var ended: Throwable? = null
            val call = launch(Dispatchers.Default) {
                try {
                    faq.ask("password")
                } catch (cancelled: CancellationException) {
                    ended = cancelled
                    throw cancelled
                }
            }
            assertTrue(waiting.await(60, TimeUnit.SECONDS))
            call.cancel()
            gate = null
            held.countDown()
            call.join()
            assertTrue(ended is CancellationException)
            assertEquals("the one that it was in", 1, inferences.get())
        }
    }

    @Test
    public fun eightCoroutinesGetTheAnswersOfOne(): Unit = runBlocking {
        open { putAll() }.use { faq ->
            val texts = List(40) { "question $it about password number ${it * it}" }
            val expected = texts.map { faq.ask(it) }
            val got = List(8) { worker ->
                async(Dispatchers.Default) { texts.map { text -> faq.ask(text) }.also { assertEquals("$worker", 40, it.size) } }
            }.awaitAll()
            got.forEach { assertEquals(expected, it) }
        }
    }

    @Test
    public fun anotherArtefactsVectorsAreMadeAnew(): Unit = runBlocking {
        open { putAll() }.close()
        val about = File(place, "index.json")
        val sums = File(place, "SHA256SUMS")
        val before = sha256(about)
        about.writeText(about.readText().replace(Regex("\"encoder\":\"\\w+\""), "\"encoder\":\"another\""))
        sums.writeText(sums.readText().replace(before, sha256(about)))
        inferences.set(0)
        open().use {
            assertEquals(3, it.size)
            assertEquals(3, inferences.get())
            val index = File(temporary.root, "python").apply { place.copyRecursively(this) }
            val error = assertThrows(ArtefactException::class.java) { runBlocking { it.add(index) } }
            assertTrue(error.message, error.message.orEmpty().contains("vectors of another artefact (another"))
        }
    }

    private fun sha256(file: File) =
        java.security.MessageDigest.getInstance("SHA-256").digest(file.readBytes()).joinToString("") { "%02x".format(it) }
}
