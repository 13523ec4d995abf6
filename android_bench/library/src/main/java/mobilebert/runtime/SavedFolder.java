package mobilebert.runtime;

import java.io.File;
import java.io.IOException;
import java.util.Collections;

/**
 * A folder that is replaced as a whole. The new one is written beside it; the old one then gives way, and the new one
 * takes its name. Whenever the process is killed, {@link #recover} finds a whole folder: the old one or the new one.
 */
final class SavedFolder {
  private static final String SUMS = "SHA256SUMS";

  private final File folder;
  private final File part;
  private final File old;

  SavedFolder(File folder) {
    this.folder = folder;
    part = new File(folder.getPath() + ".part");
    old = new File(folder.getPath() + ".old");
  }

  /** An empty folder for the new files. */
  File begin() throws IOException {
    recover();
    delete(part);
    if (!part.mkdirs()) {
      throw new IOException(part + " can't be made; free some storage");
    }
    return part;
  }

  /** Lists the files' hashes, without which the folder counts as incomplete, and gives it its name. */
  void finish() throws IOException {
    StringBuilder sums = new StringBuilder();
    String[] names = part.list();
    java.util.Arrays.sort(names);
    for (String name : names) {
      sums.append(Checksums.sha256(new File(part, name))).append("  ").append(name).append('\n');
    }
    Files.writeText(new File(part, SUMS), sums.toString());
    delete(old);
    if (folder.exists()) {
      rename(folder, old);
    }
    rename(part, folder);
    delete(old);
  }

  /** Puts back what a killed process left; is there a folder now? */
  boolean recover() throws IOException {
    if (!folder.exists() && isWhole(part)) { // killed between the two renames
      rename(part, folder);
    }
    if (!folder.exists() && old.exists()) {
      rename(old, folder);
    }
    return folder.exists();
  }

  private static boolean isWhole(File place) {
    try {
      Checksums.verify(place, Collections.<String>emptyList());
      return true;
    } catch (IOException incomplete) {
      return false;
    }
  }

  private static void rename(File from, File to) throws IOException {
    if (!from.renameTo(to)) {
      throw new IOException(from + " can't be renamed to " + to.getName());
    }
  }

  private static void delete(File place) throws IOException {
    File[] inside = place.listFiles();
    for (File file : inside == null ? new File[0] : inside) {
      delete(file);
    }
    if (place.exists() && !place.delete()) {
      throw new IOException(place + " can't be deleted");
    }
  }
}
