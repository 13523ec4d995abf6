package mobilebert.runtime;

import androidx.annotation.NonNull;
import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;

/** Whole files as text, copies, and writes that are never half there. */
public final class Files {
  private static final int BLOCK = 1 << 16;

  /** A folder that is no package: a shrinker moves classes, and would move a package's resources with them or not. */
  private static final String RESOURCES = "/mobilebert-runtime/";

  private static final long MEBIBYTE = 1 << 20;
  private static final long LARGEST = 2048 * MEBIBYTE;
  private static final Map<String, Long> SIZES = new HashMap<String, Long>();

  static {
    SIZES.put("io.json", MEBIBYTE);
    SIZES.put("SHA256SUMS", MEBIBYTE);
    SIZES.put("SHA256SUMS.minisig", MEBIBYTE);
    SIZES.put("recipe.json", MEBIBYTE);
    SIZES.put("vocab.txt", 32 * MEBIBYTE);
    SIZES.put("spelling.txt", 8 * MEBIBYTE);
    SIZES.put("tokenizer.json", 128 * MEBIBYTE);
  }

  private Files() {}

  /**
   * Refuses what is not a regular file of a sensible size before it is opened: a pipe would never end. Sizes are those
   * of mobilebert_runtime/checked.py.
   */
  static void check(File file) throws IOException {
    String name = file.getName();
    if (!file.isFile()) {
      throw new IOException(name + " is missing or no regular file; export or copy the artefact again");
    }
    Long largest = SIZES.get(name);
    if (file.length() > (largest == null ? LARGEST : largest)) {
      throw new IOException(name + " has " + file.length() + " bytes, too many; export the artefact again");
    }
  }

  /** A UTF-8 file, as {@link #check} allows it. */
  @NonNull
  public static String readText(File file) throws IOException {
    return text(readBytes(file), file.getName());
  }

  /** The bytes of a file, as {@link #check} allows it. */
  static byte[] readBytes(File file) throws IOException {
    check(file);
    FileInputStream stream = new FileInputStream(file);
    try {
      ByteArrayOutputStream bytes = new ByteArrayOutputStream((int) file.length() + 1);
      copy(stream, bytes);
      return bytes.toByteArray();
    } finally {
      stream.close();
    }
  }

  /** A UTF-8 stream to its end. */
  static String text(InputStream stream, String name) throws IOException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    copy(stream, bytes);
    return text(bytes.toByteArray(), name);
  }

  /** The text of UTF-8 bytes. */
  static String text(byte[] bytes, String name) throws IOException {
    try {
      return StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes)).toString();
    } catch (CharacterCodingException error) {
      throw new IOException(name + " is not UTF-8; export the artefact again", error);
    }
  }

  /** A table that is packaged with the library. */
  static byte[] readResource(String name) throws IOException {
    InputStream stream = Files.class.getResourceAsStream(RESOURCES + name);
    if (stream == null) {
      throw new IOException("the table " + name + " is not in the app; its packaging options must not exclude it");
    }
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try {
      copy(stream, bytes);
    } finally {
      stream.close();
    }
    return bytes.toByteArray();
  }

  /** Writes beside the file under a temporary name, then renames. */
  public static void writeText(File file, String text) throws IOException {
    write(file, new File(file.getPath() + ".part"), text.getBytes(StandardCharsets.UTF_8));
  }

  /** Writes under the name `beside`, then renames; writers at the same time each need a name of their own. */
  static void write(File file, File beside, byte... bytes) throws IOException {
    FileOutputStream stream = new FileOutputStream(beside);
    try {
      stream.write(bytes);
      stream.getFD().sync();
    } finally {
      stream.close();
    }
    if (!beside.renameTo(file)) {
      throw new IOException(beside + " can't be renamed to " + file.getName());
    }
  }

  /** Mapped, not read: the bytes stay out of the Java heap and are paged in when first used. */
  static MappedByteBuffer map(File file) throws IOException {
    RandomAccessFile opened = new RandomAccessFile(file, "r");
    try {
      return opened.getChannel().map(FileChannel.MapMode.READ_ONLY, 0, opened.length());
    } finally {
      opened.close();
    }
  }

  public static void copy(InputStream from, OutputStream to) throws IOException {
    byte[] block = new byte[BLOCK];
    for (int count = from.read(block); count >= 0; count = from.read(block)) {
      to.write(block, 0, count);
    }
  }
}
