package mobilebert.sample

import com.sun.net.httpserver.HttpExchange
import com.sun.net.httpserver.HttpServer
import java.io.File
import java.io.IOException
import java.net.InetAddress
import java.net.InetSocketAddress
import java.net.URL
import kotlin.random.Random
import mobilebert.runtime.Checksums
import org.junit.After
import org.junit.Assert.assertArrayEquals
import org.junit.Assert.assertEquals
import org.junit.Assert.assertFalse
import org.junit.Assert.assertThrows
import org.junit.Assert.assertTrue
import org.junit.Before
import org.junit.Rule
import org.junit.Test
import org.junit.rules.TemporaryFolder

/** Promise: a download goes on where it stopped, and no folder counts as whole that is not. */
public class DownloadTest {
    @get:Rule public val temporary: TemporaryFolder = TemporaryFolder()

    private val files = mutableMapOf(
        "io.json" to "{}".toByteArray(),
        "model.tflite" to Random(1).nextBytes(300_000),
        "vocab.txt" to ByteArray(0),
        "SHA256SUMS.minisig" to "a signature".toByteArray(),
    )
    private val server = HttpServer.create(InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0)

    /** Bytes of bodies that were sent, by file; how many of the model's the next answer ends after. */
    private val sent = mutableMapOf<String, Int>()
    private var cut = Int.MAX_VALUE
    private var knowsRanges = true

    private val from get() = URL("http://${server.address.hostString}:${server.address.port}/matcher/")
    private lateinit var folder: File

    @Before
    public fun start() {
        folder = File(temporary.root, "matcher")
        list()
        server.createContext("/matcher/") { answer(it) }
        server.start()
    }

    @After
    public fun stop() {
        server.stop(0)
    }

    private fun list() {
        val lines = files.filterKeys { !it.startsWith("SHA256SUMS") }.map { (name, content) ->
            val file = temporary.newFile()
            file.writeBytes(content)
            "${Checksums.sha256(file)}  $name\n"
        }
        files["SHA256SUMS"] = lines.joinToString("").toByteArray()
    }

    private fun answer(exchange: HttpExchange) {
        val name = exchange.requestURI.path.substringAfterLast('/')
        val content = files[name]
        val range = exchange.requestHeaders.getFirst("Range")?.takeIf { knowsRanges }
        val start = range?.removePrefix("bytes=")?.removeSuffix("-")?.toInt() ?: 0
        if (content == null || range != null && start >= content.size) {
            exchange.sendResponseHeaders(if (content == null) 404 else 416, -1)
            return exchange.close()
        }
        val body = content.copyOfRange(start, content.size)
        exchange.sendResponseHeaders(if (range == null) 200 else 206, if (body.isEmpty()) -1 else body.size.toLong())
        val count = if (name == "model.tflite") minOf(body.size, cut) else body.size
        exchange.responseBody.write(body, 0, count)
        sent[name] = (sent[name] ?: 0) + count
        if (count < body.size) {
            exchange.responseBody.flush()
        }
        try {
            exchange.responseBody.close()
        } catch (cut: IOException) {
            // An answer that ends early closes the connection.
        }
        exchange.close()
    }

    private fun download(): Unit = downloadArtefact(from, folder, signed = true)

    private fun checkWhole() {
        assertEquals(files.keys, folder.list()!!.toSet())
        for ((name, content) in files) {
            assertArrayEquals(name, content, File(folder, name).readBytes())
        }
    }

    @Test
    public fun aWholeFolderArrivesAndIsNotFetchedTwice() {
        download()
        checkWhole()
        download()
        assertEquals(300_000, sent["model.tflite"])
        checkWhole()
    }

    @Test
    public fun itGoesOnWhereTheConnectionEnded() {
        cut = 100_000
        repeat(2) {
            assertThrows(IOException::class.java) { download() }
            assertFalse(File(folder, "SHA256SUMS").exists())
            assertFalse(File(folder, "model.tflite").exists())
        }
        cut = Int.MAX_VALUE
        download()
        assertEquals("no byte twice", 300_000, sent["model.tflite"])
        checkWhole()
    }

    @Test
    public fun aServerWithoutRangesSendsAllOfIt() {
        cut = 100_000
        assertThrows(IOException::class.java) { download() }
        cut = Int.MAX_VALUE
        knowsRanges = false
        download()
        checkWhole()
    }

    @Test
    public fun aFileThatWasReplacedMeanwhileIsNotMixed() {
        cut = 100_000
        assertThrows(IOException::class.java) { download() }
        cut = Int.MAX_VALUE
        files["model.tflite"] = Random(2).nextBytes(250_000)
        list()
        val said = assertThrows(IOException::class.java) { download() }
        assertTrue(said.message, said.message!!.contains("is not what SHA256SUMS says"))
        assertFalse(File(folder, "SHA256SUMS").exists())
        download()
        checkWhole()
    }

    @Test
    public fun aDamagedFileAndAListThatLeadsElsewhereAreRefused() {
        files["io.json"] = "{ }".toByteArray()
        assertTrue(assertThrows(IOException::class.java) { download() }.message!!.contains("io.json is not what"))
        files["SHA256SUMS"] = "${"0".repeat(64)}  ../io.json\n".toByteArray()
        assertTrue(assertThrows(IOException::class.java) { download() }.message!!.contains("a line that is none"))
        files.remove("SHA256SUMS")
        assertTrue(assertThrows(IOException::class.java) { download() }.message!!.contains("answers 404"))
        assertFalse(File(folder, "SHA256SUMS").exists())
    }
}
