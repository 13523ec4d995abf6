package mobilebert.runtime;

import static org.junit.Assert.assertArrayEquals;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertNull;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import java.io.File;
import java.io.IOException;
import java.util.Map;
import org.junit.Rule;
import org.junit.Test;
import org.junit.function.ThrowingRunnable;
import org.junit.rules.TemporaryFolder;

/** Promise: a signature holds here where Python's cryptography made it, and no other does. */
public final class MinisignTest {
  @Rule public final TemporaryFolder temporary = new TemporaryFolder();

  @Test
  public void hashesArePythons() throws Exception {
    for (Map<String, Object> row : Golden.rows("blake2b.json")) {
      assertArrayEquals(bytes(row.get("hash")), Blake2b.hash(bytes(row.get("message"))));
    }
  }

  @Test
  public void signaturesHoldAsInPython() throws Exception {
    int held = 0;
    for (Map<String, Object> row : Golden.rows("ed25519.json")) {
      boolean got = Ed25519.verify(bytes(row.get("key")), bytes(row.get("signature")), bytes(row.get("message")));
      assertEquals(Json.write(row), row.get("holds"), got);
      held += got ? 1 : 0;
    }
    assertTrue("too few: " + held, held >= 20);
  }

  @Test
  public void aFolderIsHeldToItsSignature() throws Exception {
    File signed = Golden.file("signed");
    byte[] key = Minisign.key(Files.readText(Golden.file("keys/key.pub")).split("\n")[1]);
    byte[] other = Minisign.key(Files.readText(Golden.file("other/key.pub")).split("\n")[1]);
    Minisign.verify(signed, key);
    assertTrue(refusal(signed, other).contains("signed with another key"));
    File folder = temporary.newFolder();
    String sums = Files.readText(new File(signed, "SHA256SUMS"));
    String signature = Files.readText(new File(signed, "SHA256SUMS.minisig"));
    Files.writeText(new File(folder, "SHA256SUMS"), sums);
    assertTrue(refusal(folder, key).contains("is not signed"));
    Files.writeText(new File(folder, "SHA256SUMS.minisig"), signature);
    Minisign.verify(folder, key);
    Files.writeText(new File(folder, "SHA256SUMS"), sums + " ");
    assertTrue(refusal(folder, key).contains("does not fit"));
    Files.writeText(new File(folder, "SHA256SUMS"), sums);
    Files.writeText(new File(folder, "SHA256SUMS.minisig"), signature.replace("hashed", "Hashed"));
    assertTrue(refusal(folder, key).contains("does not fit"));
    for (String damaged : new String[] {"", signature.replace("untrusted", "trusted"), signature.replace("=", "")}) {
      Files.writeText(new File(folder, "SHA256SUMS.minisig"), damaged);
      assertTrue(refusal(folder, key).contains("damaged"));
    }
    assertNull(Minisign.key("RWQ"));
  }

  private static String refusal(final File folder, final byte[] key) {
    return assertThrows(
            IOException.class,
            new ThrowingRunnable() {
              @Override
              public void run() throws IOException {
                Minisign.verify(folder, key);
              }
            })
        .getMessage();
  }

  private static byte[] bytes(Object hexadecimal) {
    String text = (String) hexadecimal;
    byte[] out = new byte[text.length() / 2];
    for (int i = 0; i < out.length; i++) {
      out[i] = (byte) Integer.parseInt(text.substring(2 * i, 2 * i + 2), 16);
    }
    return out;
  }
}
