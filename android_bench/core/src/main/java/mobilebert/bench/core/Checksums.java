package mobilebert.bench.core;

import java.io.File;
import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.security.DigestOutputStream;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;

/** SHA-256 of files, and SHA256SUMS of an artefact folder. */
public final class Checksums {
  private Checksums() {}

  /** Compares every file that SHA256SUMS lists; throws on the first one that differs, and when the model is not listed. */
  public static void verify(File folder) throws IOException {
    File sums = new File(folder, "SHA256SUMS");
    if (!sums.isFile()) {
      throw new IOException(folder.getName() + " has no SHA256SUMS; it is not an artefact folder");
    }
    boolean model = false;
    for (String line : Files.readText(sums).split("\n")) {
      String[] parts = line.split("  ", 2);
      if (parts.length != 2 || parts[1].contains("/")) {
        throw new IOException("SHA256SUMS has a line that can't be read: " + line);
      }
      File file = new File(folder, parts[1]);
      if (!file.isFile() || !sha256(file).equals(parts[0])) {
        throw new IOException(parts[1] + " is missing or was changed; export or copy the artefact again");
      }
      model |= parts[1].startsWith("model.");
    }
    if (!model) {
      throw new IOException("SHA256SUMS does not cover the model; export the artefact again");
    }
  }

  public static String sha256(File file) throws IOException {
    InputStream stream = new FileInputStream(file);
    try {
      MessageDigest digest = digest();
      Files.copy(stream, new DigestOutputStream(new Sink(), digest));
      return hex(digest.digest());
    } finally {
      stream.close();
    }
  }

  public static String sha256(String text) {
    return hex(digest().digest(text.getBytes(StandardCharsets.UTF_8)));
  }

  private static MessageDigest digest() {
    try {
      return MessageDigest.getInstance("SHA-256");
    } catch (NoSuchAlgorithmException error) {
      throw new IllegalStateException("every Java platform has SHA-256", error);
    }
  }

  private static String hex(byte[] bytes) {
    StringBuilder out = new StringBuilder();
    for (byte value : bytes) {
      out.append(Character.forDigit(value >> 4 & 15, 16)).append(Character.forDigit(value & 15, 16));
    }
    return out.toString();
  }

  private static final class Sink extends OutputStream {
    @Override
    public void write(int value) {}

    @Override
    public void write(byte[] block, int from, int count) {}
  }
}
