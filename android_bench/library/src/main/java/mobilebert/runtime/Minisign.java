package mobilebert.runtime;

import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/** SHA256SUMS.minisig of an artefact folder: mobilebert_runtime/signature.py, check for check. */
final class Minisign {
  static final String FILE = "SHA256SUMS.minisig";
  private static final String SUMS = "SHA256SUMS";
  private static final String COMMENT = "untrusted comment: ";
  private static final String TRUSTED = "trusted comment: ";
  private static final String ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  private static final byte[] KEY_KIND = {'E', 'd'};
  private static final byte[] PREHASHED = {'E', 'D'};
  private static final int KEY_BYTES = 42;

  private Minisign() {}

  /** Two letters, the key's number, the key; null where a line is no minisign public key. */
  static byte[] key(String line) {
    byte[] data = decode(line, KEY_BYTES);
    return data != null && Arrays.equals(Arrays.copyOf(data, 2), KEY_KIND) ? data : null;
  }

  /** Throws unless the owner of a key signed a folder's SHA256SUMS. */
  static void verify(File folder, byte[] key) throws IOException {
    File file = new File(folder, FILE);
    if (!file.exists()) {
      throw new IOException(folder.getName() + " is not signed (no " + FILE + "); don't use it");
    }
    String[] lines = Files.readText(file).split("\n", -1);
    if (lines.length < 4 || !lines[0].startsWith(COMMENT) || !lines[2].startsWith(TRUSTED)) {
      throw new IOException(FILE + " is damaged, not a minisign signature; don't use the artefact");
    }
    byte[] first = decode(lines[1], 74);
    byte[] whole = decode(lines[3], 64);
    if (first == null || whole == null || !Arrays.equals(Arrays.copyOf(first, 2), PREHASHED)) {
      throw new IOException(FILE + " is damaged, not a prehashed minisign signature; don't use the artefact");
    }
    if (!Arrays.equals(Arrays.copyOfRange(first, 2, 10), Arrays.copyOfRange(key, 2, 10))) {
      throw new IOException(FILE + " was signed with another key; don't use the artefact");
    }
    byte[] owner = Arrays.copyOfRange(key, 10, KEY_BYTES);
    byte[] signature = Arrays.copyOfRange(first, 10, 74);
    ByteArrayOutputStream about = new ByteArrayOutputStream();
    about.write(signature);
    about.write(lines[2].substring(TRUSTED.length()).getBytes(StandardCharsets.UTF_8));
    byte[] hash = Blake2b.hash(Files.readBytes(new File(folder, SUMS)));
    if (!Ed25519.verify(owner, signature, hash) || !Ed25519.verify(owner, whole, about.toByteArray())) {
      throw new IOException(FILE + " does not fit " + SUMS + "; don't use the artefact");
    }
  }

  /** Base64 of so many bytes, or null. */
  private static byte[] decode(String line, int size) {
    String text = line.trim();
    int padding = (3 - size % 3) % 3;
    int letters = text.length() - padding;
    if (text.length() != (size + 2) / 3 * 4 || text.indexOf('=') != (padding == 0 ? -1 : letters)) {
      return null;
    }
    byte[] out = new byte[size];
    int bits = 0;
    int held = 0;
    int at = 0;
    for (int i = 0; i < letters; i++) {
      int value = ALPHABET.indexOf(text.charAt(i));
      if (value < 0) {
        return null;
      }
      bits = bits << 6 | value;
      held += 6;
      if (held >= 8) {
        held -= 8;
        out[at++] = (byte) (bits >> held);
      }
    }
    return text.endsWith("==") || padding != 2 ? out : null;
  }
}
