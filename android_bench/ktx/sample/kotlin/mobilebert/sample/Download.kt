package mobilebert.sample

import java.io.File
import java.io.FileOutputStream
import java.io.IOException
import java.net.HttpURLConnection
import java.net.URL
import mobilebert.runtime.Checksums

private const val SUMS = "SHA256SUMS"
private const val SIGNATURE = "SHA256SUMS.minisig"
private const val PATIENCE_MS = 30_000
private val LINE = Regex("([0-9a-f]{64})  ([A-Za-z0-9_][A-Za-z0-9._-]{0,99})")

/**
 * Fetches an artefact folder from a server, away from the main thread. A call that was interrupted, by the user or by a
 * tunnel, is made again: it goes on where the last one stopped. Each file gets its name once its checksum is right, and
 * the list of checksums comes last, so that a folder with one is whole.
 *
 * A copy for your app: the library itself opens no connection. Who wrote the files is for [ModelOptions.signedBy] to say
 * when the folder is opened.
 *
 * @param from address of the folder, with a slash at its end
 * @param signed fetch the signature too
 * @throws IOException when the server cannot be reached or has no such file, or a file is not what its checksum says
 */
public fun downloadArtefact(from: URL, folder: File, signed: Boolean) {
    folder.mkdirs()
    val list = File(folder, SUMS)
    list.delete() // what it lists may change now
    val next = fresh(URL(from, SUMS), File(folder, "$SUMS.part"))
    for (line in next.readText().lines().filter { it.isNotEmpty() }) {
        val (sum, name) = LINE.matchEntire(line)?.destructured ?: throw IOException("$SUMS has a line that is none: $line")
        fetch(URL(from, name), File(folder, name), sum)
    }
    if (signed) {
        rename(fresh(URL(from, SIGNATURE), File(folder, "$SIGNATURE.part")), File(folder, SIGNATURE))
    }
    rename(next, list)
}

/** A file of which a part may be there; one that is there whole is not fetched again. */
private fun fetch(from: URL, to: File, sum: String) {
    if (to.isFile && Checksums.sha256(to) == sum) {
        return
    }
    val part = File(to.path + ".part")
    resume(from, part)
    if (Checksums.sha256(part) != sum) {
        part.delete() // of an older version, or damaged on the way: the next call begins anew
        throw IOException("$from is not what $SUMS says; fetch it again")
    }
    rename(part, to)
}

private fun fresh(from: URL, part: File): File {
    part.delete()
    resume(from, part)
    return part
}

/** Appends what a part lacks, or writes all of it where the server does not know ranges. */
private fun resume(from: URL, part: File) {
    val connection = from.openConnection() as HttpURLConnection
    connection.connectTimeout = PATIENCE_MS
    connection.readTimeout = PATIENCE_MS
    connection.setRequestProperty("Accept-Encoding", "identity")
    if (part.length() > 0) {
        connection.setRequestProperty("Range", "bytes=${part.length()}-")
    }
    try {
        val code = connection.responseCode
        if (code == 416) {
            return // there is no more of it
        }
        if (code != HttpURLConnection.HTTP_OK && code != HttpURLConnection.HTTP_PARTIAL) {
            throw IOException("$from: the server answers $code")
        }
        val left = connection.getHeaderField("Content-Length")?.toLong() ?: -1
        val before = if (code == HttpURLConnection.HTTP_PARTIAL) part.length() else 0
        connection.inputStream.use { input ->
            FileOutputStream(part, before > 0).use { output ->
                input.copyTo(output)
                output.fd.sync()
            }
        }
        if (left >= 0 && part.length() != before + left) {
            throw IOException("$from: the connection ended early")
        }
    } finally {
        connection.disconnect()
    }
}

private fun rename(from: File, to: File) {
    if (!from.renameTo(to)) {
        throw IOException("$from can't be renamed to ${to.name}")
    }
}
