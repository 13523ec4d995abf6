package mobilebert.runtime;

import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;

/**
 * Opens the artefact folders that standard input names, one a line, and answers each with a line: "accepted" with the
 * ids of the texts of a JSON file, "refused" with the reason, or what else was thrown.
 * tests/android_bench/test_phone_loader.py compares it with Python.
 */
final class Loader {
  private static final int LENGTH = 64;

  private Loader() {}

  public static void main(String[] arguments) throws IOException {
    List<?> texts = (List<?>) Json.parse(Files.readText(new File(arguments[0])));
    BufferedReader names = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String name = names.readLine(); name != null; name = names.readLine()) {
      System.out.println(verdict(new File(name), texts).replaceAll("\\R", " "));
      System.out.flush();
    }
  }

  private static String verdict(File folder, List<?> texts) {
    try {
      Checksums.verify(folder);
      ArtefactCard card = ArtefactCard.read(folder);
      TextEncoder encoder = TextEncoder.read(folder, card);
      StringBuilder ids = new StringBuilder("accepted: ");
      for (Object text : texts) {
        TextEncoder.Encoded one = encoder.encode((String) text, null, LENGTH);
        ids.append(Arrays.toString(Arrays.copyOf(one.inputIds, one.tokens)));
      }
      return ids.toString();
    } catch (IOException error) {
      return "refused: " + error.getMessage();
    } catch (RuntimeException | StackOverflowError error) {
      return "crashed: " + error;
    }
  }
}
