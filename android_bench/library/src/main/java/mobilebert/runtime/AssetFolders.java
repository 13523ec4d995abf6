package mobilebert.runtime;

import android.content.Context;
import android.content.res.AssetManager;
import androidx.annotation.NonNull;
import java.io.File;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStream;

/** Artefact folders packaged with an app: runtimes map a model from a file, so they are copied out once. */
public final class AssetFolders {
  private static final String FILES = "artefacts";

  private AssetFolders() {}

  /**
   * Copies a folder of the assets to the app's files; a copy that does not match its checksums is made again.
   *
   * <p>A model that is open keeps the file it was opened from.
   *
   * @throws IOException when it is damaged, or there is no room
   */
  @NonNull
  public static synchronized File unpack(@NonNull Context context, @NonNull String folder) throws IOException {
    AssetManager assets = context.getAssets();
    File to = new File(new File(context.getFilesDir(), FILES), folder);
    String sums = read(assets, folder + "/SHA256SUMS");
    try {
      if (Files.readText(new File(to, "SHA256SUMS")).equals(sums)) {
        Checksums.verify(to);
        return to;
      }
    } catch (IOException notThereYet) {
      // It is copied below; what is wrong with the copy is said after that.
    }
    if (!to.isDirectory() && !to.mkdirs()) {
      throw new IOException(to + " can't be made; free some storage");
    }
    String[] names = assets.list(folder);
    for (String name : names == null ? new String[0] : names) {
      copy(assets, folder + "/" + name, new File(to, name));
    }
    Checksums.verify(to);
    return to;
  }

  private static String read(AssetManager assets, String name) throws IOException {
    InputStream stream = assets.open(name);
    try {
      return Files.text(stream, name);
    } finally {
      stream.close();
    }
  }

  private static void copy(AssetManager assets, String name, File to) throws IOException {
    File part = new File(to.getPath() + ".part");
    InputStream stream = assets.open(name);
    try {
      FileOutputStream file = new FileOutputStream(part);
      try {
        Files.copy(stream, file);
      } finally {
        file.close();
      }
    } finally {
      stream.close();
    }
    if (!part.renameTo(to)) { // the old file's bytes stay for whoever has mapped them
      throw new IOException(to + " can't be replaced");
    }
  }
}
