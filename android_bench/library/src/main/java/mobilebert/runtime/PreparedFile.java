package mobilebert.runtime;

import java.io.File;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.zip.CRC32;

/**
 * What was made of an artefact's texts when its copy was first opened: spelling.txt sorted, and of a tokenizer.json that
 * was compared with vocab.txt all that the vocabulary does not say. Later starts map it: they sort nothing, and read no
 * tokenizer.json.
 *
 * <pre>
 * format, checksum of the rest
 * length and bytes of each: which artefact it was made of, added tokens (JSON), words; none where texts are not corrected
 * </pre>
 *
 * <p>A file that is damaged, of another artefact or of another version of this library is made again.
 */
final class PreparedFile {
  private static final int FORMAT = 0x4d42_0001;
  private static final int NUMBER = 4; // bytes
  private static final int START = 2 * NUMBER;
  private static final int PARTS = 3;
  private static final int BLOCK = 1 << 16;

  /** Member "added_tokens" of tokenizer.json. */
  final Fields added;

  /** Null where texts are not corrected. */
  final WordList words;

  private PreparedFile(Fields added, WordList words) {
    this.added = added;
    this.words = words;
  }

  /** Maps a file; null where it is not there, or not whole, or not of this artefact and this version. */
  static PreparedFile read(File file, String artefact) throws IOException {
    if (!file.isFile() || file.length() < START || file.length() > Integer.MAX_VALUE) {
      return null;
    }
    ByteBuffer bytes = Files.map(file);
    boolean known = bytes.getInt() == FORMAT;
    if (bytes.getInt() != sum(bytes.duplicate()) || !known || !text(part(bytes)).equals(artefact)) {
      return null;
    }
    String added = text(part(bytes));
    ByteBuffer words = part(bytes);
    try {
      Fields fields = new Fields(Json.parse(added), "tokenizer.json");
      return new PreparedFile(fields, words.hasRemaining() ? WordList.read(words) : null);
    } catch (JsonException error) {
      throw new IllegalStateException("this class wrote what it can't read", error);
    }
  }

  private static int sum(ByteBuffer bytes) {
    CRC32 sum = new CRC32();
    byte[] block = new byte[BLOCK];
    while (bytes.hasRemaining()) {
      int count = Math.min(BLOCK, bytes.remaining());
      bytes.get(block, 0, count);
      sum.update(block, 0, count);
    }
    return (int) sum.getValue();
  }

  private static ByteBuffer part(ByteBuffer bytes) {
    ByteBuffer part = bytes.slice();
    int length = part.getInt();
    ByteBuffer found = part.slice();
    found.limit(length);
    bytes.position(bytes.position() + NUMBER + length);
    return found;
  }

  private static String text(ByteBuffer part) {
    return StandardCharsets.UTF_8.decode(part).toString();
  }

  /** Writes it beside the file under a name of its own, then renames: threads and processes may do so at once. */
  static void write(File file, String artefact, String added, byte... words) throws IOException {
    byte[][] parts = {artefact.getBytes(StandardCharsets.UTF_8), added.getBytes(StandardCharsets.UTF_8), words};
    ByteBuffer bytes =
        ByteBuffer.allocate(START + PARTS * NUMBER + parts[0].length + parts[1].length + words.length);
    bytes.position(START);
    for (byte[] part : parts) {
      bytes.putInt(part.length).put(part);
    }
    bytes.position(START);
    bytes.putInt(0, FORMAT).putInt(NUMBER, sum(bytes));
    Files.write(file, File.createTempFile(file.getName(), null, file.getParentFile()), bytes.array());
  }
}
