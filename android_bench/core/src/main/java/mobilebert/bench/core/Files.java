package mobilebert.bench.core;

import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;

/** Whole files as text, copies, and writes that are never half there. */
public final class Files {
  private static final int BLOCK = 1 << 16;

  private Files() {}

  public static String readText(File file) throws IOException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    FileInputStream stream = new FileInputStream(file);
    try {
      copy(stream, bytes);
    } finally {
      stream.close();
    }
    return new String(bytes.toByteArray(), StandardCharsets.UTF_8);
  }

  /** Writes beside the file under a temporary name, then renames. */
  public static void writeText(File file, String text) throws IOException {
    File beside = new File(file.getPath() + ".part");
    FileOutputStream stream = new FileOutputStream(beside);
    try {
      stream.write(text.getBytes(StandardCharsets.UTF_8));
      stream.getFD().sync();
    } finally {
      stream.close();
    }
    if (!beside.renameTo(file)) {
      throw new IOException(beside + " can't be renamed to " + file.getName());
    }
  }

  public static void copy(InputStream from, OutputStream to) throws IOException {
    byte[] block = new byte[BLOCK];
    for (int count = from.read(block); count >= 0; count = from.read(block)) {
      to.write(block, 0, count);
    }
  }
}
