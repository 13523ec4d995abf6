package mobilebert.runtime;

import android.content.Context;
import android.content.res.AssetManager;
import androidx.annotation.NonNull;
import java.io.File;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.RandomAccessFile;
import java.nio.channels.FileLock;
import java.security.DigestOutputStream;
import java.security.MessageDigest;
import java.util.Arrays;
import java.util.Collections;
import java.util.Map;

/**
 * Artefact folders packaged with an app: runtimes map a model from a file, so they are copied out, once an install.
 *
 * <pre>
 * NO_BACKUP/artefacts/.lock                  held by the process that copies
 *                     FOLDER/SUMS/NAME/      the copy; SUMS is a part of the hash of its SHA256SUMS
 *                     FOLDER/SUMS/checked    sizes and times of the files when their hashes were compared
 *                     FOLDER/SUMS/prepared   see {@link PreparedFile}
 * </pre>
 *
 * <p>Not in a backup: the files come with the app, and Android's Auto Backup takes 25 MB of an app in all.
 */
public final class AssetFolders {
  private static final String PLACE = "artefacts";
  private static final String SUMS = "SHA256SUMS";
  private static final String CHECKED = "checked";
  private static final String PREPARED = "prepared";
  private static final String PART = "part";
  private static final int VERSION_DIGITS = 16;

  private AssetFolders() {}

  /**
   * The copy of a folder of the assets, made where there is none of this version; copies of other versions, and of folders
   * that the app has no more, are deleted then. Hashes are compared when a copy is made, and again where a file's size or
   * time is not what it was. Threads and processes of the app may call it at once.
   *
   * <p>A model that is open keeps the file it was opened from.
   *
   * @throws IOException when the folder is damaged, or there is no room
   */
  @NonNull
  public static synchronized File unpack(@NonNull Context context, @NonNull String folder) throws IOException {
    File root = new File(context.getNoBackupFilesDir(), PLACE);
    makeFolder(root);
    RandomAccessFile file = new RandomAccessFile(new File(root, ".lock"), "rw");
    try {
      FileLock lock = file.getChannel().lock();
      try {
        return unpack(context.getAssets(), root, folder);
      } finally {
        lock.release();
      }
    } finally {
      file.close();
    }
  }

  private static File unpack(AssetManager assets, File root, String folder) throws IOException {
    String sums = read(assets, folder + "/" + SUMS);
    String version = Checksums.sha256(sums).substring(0, VERSION_DIGITS);
    File versions = new File(root, folder);
    File home = new File(versions, version);
    File copy = new File(home, new File(folder).getName());
    File checked = new File(home, CHECKED);
    Map<String, String> hashes = Checksums.listed(sums);
    if (isThere(copy, checked, sums, hashes)) {
      return copy;
    }
    File part = new File(versions, PART);
    delete(part);
    delete(home);
    File to = new File(part, copy.getName());
    makeFolder(to);
    Files.writeText(new File(to, SUMS), sums);
    for (Map.Entry<String, String> entry : hashes.entrySet()) {
      copy(assets, folder + "/" + entry.getKey(), new File(to, entry.getKey()), entry.getValue());
    }
    if (Arrays.asList(assets.list(folder)).contains(Minisign.FILE)) { // which covers SHA256SUMS, and is not in it
      Files.writeText(new File(to, Minisign.FILE), read(assets, folder + "/" + Minisign.FILE));
    }
    Files.writeText(new File(part, CHECKED), state(to, hashes));
    if (!part.renameTo(home)) {
      throw new IOException(part + " can't be renamed to " + home.getName());
    }
    deleteOthers(assets, root, "", home);
    return copy;
  }

  /** Where what is made of a copy's files may be kept: it goes with the copy. */
  static File kept(File copy) {
    return new File(copy.getParentFile(), PREPARED);
  }

  /** Is the copy whole? Its hashes are compared where sizes or times are not those of the last time. */
  private static boolean isThere(File copy, File checked, String sums, Map<String, String> hashes) {
    try {
      if (!Files.readText(new File(copy, SUMS)).equals(sums)) {
        return false;
      }
      if (!checked.isFile() || !Files.readText(checked).equals(state(copy, hashes))) {
        Checksums.verify(copy, Collections.<String>emptyList());
        Files.writeText(checked, state(copy, hashes));
      }
      return true;
    } catch (IOException damaged) {
      return false; // it is made again, and what is wrong with that copy is said
    }
  }

  /** Size and time of each file. */
  private static String state(File copy, Map<String, String> hashes) {
    StringBuilder out = new StringBuilder();
    for (String name : hashes.keySet()) {
      File file = new File(copy, name);
      out.append(file.length()).append(' ').append(file.lastModified()).append(' ').append(name).append('\n');
    }
    return out.toString();
  }

  /** Deletes copies of older versions, and of folders that are no longer among the assets. */
  private static void deleteOthers(AssetManager assets, File place, String folder, File kept) throws IOException {
    File[] found = place.listFiles();
    for (File one : found == null ? new File[0] : found) {
      boolean copy = new File(one, CHECKED).isFile() || one.getName().equals(PART);
      if (copy && !one.equals(kept) && (one.getParentFile().equals(kept.getParentFile()) || !has(assets, folder))) {
        delete(one);
      } else if (one.isDirectory() && !copy) {
        deleteOthers(assets, one, folder.isEmpty() ? one.getName() : folder + "/" + one.getName(), kept);
      }
    }
  }

  private static boolean has(AssetManager assets, String folder) throws IOException {
    String[] names = assets.list(folder);
    return names != null && Arrays.asList(names).contains(SUMS);
  }

  private static void makeFolder(File folder) throws IOException {
    if (!folder.isDirectory() && !folder.mkdirs()) {
      throw new IOException(folder + " can't be made; free some storage");
    }
  }

  private static void delete(File file) {
    File[] inside = file.listFiles();
    for (File one : inside == null ? new File[0] : inside) {
      delete(one);
    }
    file.delete(); // what stays is taken for no copy, and deleted the next time
  }

  private static String read(AssetManager assets, String name) throws IOException {
    InputStream stream = assets.open(name);
    try {
      return Files.text(stream, name);
    } finally {
      stream.close();
    }
  }

  /** Copies a file and compares its hash on the way. */
  private static void copy(AssetManager assets, String name, File to, String hash) throws IOException {
    MessageDigest digest = Checksums.digest();
    InputStream stream = assets.open(name);
    try {
      FileOutputStream file = new FileOutputStream(to);
      try {
        Files.copy(stream, new DigestOutputStream(file, digest));
        file.getFD().sync();
      } finally {
        file.close();
      }
    } finally {
      stream.close();
    }
    if (!Checksums.hex(digest.digest()).equals(hash)) {
      throw new IOException(name + " among the app's assets was changed; export or copy the artefact again");
    }
  }
}
