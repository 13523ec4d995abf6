package mobilebert.runtime;

import androidx.annotation.NonNull;
import java.io.File;
import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.security.DigestOutputStream;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** SHA-256 of files, and SHA256SUMS of an artefact folder. */
public final class Checksums {
  private static final String SUMS = "SHA256SUMS";
  private static final int LONGEST_NAME = 255;

  private Checksums() {}

  /** Compares every file with SHA256SUMS; throws on the first that differs, or that an artefact has and it lacks. */
  public static void verify(File folder) throws IOException {
    verify(folder, ArtefactCard.read(folder).files());
  }

  /** Hashes by file name of a SHA256SUMS; a name that leads elsewhere is refused. */
  static Map<String, String> listed(String sums) throws IOException {
    Map<String, String> listed = new TreeMap<String, String>();
    for (String line : sums.split("\r\n|\r|\n")) {
      int space = line.indexOf("  ");
      if (space >= 0 && space + 2 < line.length()) {
        listed.put(line.substring(space + 2), line.substring(0, space));
      }
    }
    for (String name : listed.keySet()) {
      boolean outside = name.contains("/") || name.equals(".") || name.equals("..");
      if (outside || name.length() > LONGEST_NAME || !Printable.isPrintable(name)) {
        throw new IOException(SUMS + " has an entry that is not a file name; export the artefact again");
      }
    }
    return listed;
  }

  /** Hashes by file name of a folder's SHA256SUMS, which must list some. */
  static Map<String, String> listed(File folder, List<String> needed) throws IOException {
    Map<String, String> listed = listed(Files.readText(new File(folder, SUMS)));
    for (String name : needed) {
      if (!listed.containsKey(name)) {
        throw new IOException(SUMS + " does not list " + name + "; export the artefact again");
      }
    }
    return listed;
  }

  /** Compares every file that SHA256SUMS lists with it; it must list some. Their hashes by name, sorted. */
  static Map<String, String> verify(File folder, List<String> needed) throws IOException {
    Map<String, String> listed = listed(folder, needed);
    for (Map.Entry<String, String> entry : listed.entrySet()) {
      String name = entry.getKey();
      File file = new File(folder, name);
      Files.check(file);
      if (!sha256(file).equals(entry.getValue())) {
        throw new IOException(name + " was changed; export or copy the artefact again");
      }
    }
    return listed;
  }

  /** SHA-256 of the lines of those of these files that are listed, sorted by name: which files they are. */
  static String fingerprint(Map<String, String> listed, String... names) {
    StringBuilder lines = new StringBuilder();
    for (Map.Entry<String, String> entry : listed.entrySet()) { // which is sorted
      if (Arrays.asList(names).contains(entry.getKey())) {
        lines.append(entry.getValue()).append("  ").append(entry.getKey()).append('\n');
      }
    }
    return sha256(lines.toString());
  }

  @NonNull
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

  @NonNull
  public static String sha256(String text) {
    return hex(digest().digest(text.getBytes(StandardCharsets.UTF_8)));
  }

  static MessageDigest digest() {
    try {
      return MessageDigest.getInstance("SHA-256");
    } catch (NoSuchAlgorithmException error) {
      throw new IllegalStateException("every Java platform has SHA-256", error);
    }
  }

  static String hex(byte[] bytes) {
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
