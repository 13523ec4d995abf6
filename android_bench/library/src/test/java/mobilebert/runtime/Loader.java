package mobilebert.runtime;

import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;

/**
 * Opens the artefact folders that standard input names, one a line, and answers each with a line: "accepted", "refused"
 * with the reason, or what else was thrown. tests/android_bench/test_phone_loader.py compares it with Python.
 */
final class Loader {
  private Loader() {}

  public static void main(String[] arguments) throws IOException {
    BufferedReader names = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String name = names.readLine(); name != null; name = names.readLine()) {
      System.out.println(verdict(new File(name)).replaceAll("\\R", " "));
      System.out.flush();
    }
  }

  private static String verdict(File folder) {
    try {
      Checksums.verify(folder);
      TextEncoder.read(folder, ArtefactCard.read(folder));
      return "accepted";
    } catch (IOException error) {
      return "refused: " + error.getMessage();
    } catch (RuntimeException | StackOverflowError error) {
      return "crashed: " + error;
    }
  }
}
