package mobilebert.bench.app;

import android.content.Context;
import android.content.res.AssetManager;
import java.io.File;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import mobilebert.runtime.Checksums;
import mobilebert.runtime.Files;

/** The artefact folders this app can use: those packaged with it, and those copied to its own storage with adb. */
final class Artefacts {
  private static final String ASSETS = "artefacts";

  private Artefacts() {}

  /** Where `adb push` puts artefact folders. */
  static File storage(Context context) {
    return new File(context.getExternalFilesDir(null), ASSETS);
  }

  /** All artefact folders, packaged ones unpacked first; each file of those returned was compared with its hash. */
  static List<File> list(Context context) throws IOException {
    List<File> found = new ArrayList<File>();
    AssetManager assets = context.getAssets();
    for (String name : names(assets, ASSETS)) {
      found.add(unpack(assets, ASSETS + "/" + name, new File(new File(context.getFilesDir(), ASSETS), name)));
    }
    File[] copied = storage(context).listFiles();
    for (File folder : copied == null ? new File[0] : copied) {
      if (new File(folder, "io.json").isFile()) {
        Checksums.verify(folder);
        found.add(folder);
      }
    }
    return found;
  }

  /** The folder of this name, or the only one for null. */
  static File choose(Context context, String name) throws IOException {
    List<File> all = list(context);
    for (File folder : all) {
      if (folder.getName().equals(name) || name == null && all.size() == 1) {
        return folder;
      }
    }
    StringBuilder names = new StringBuilder();
    for (File folder : all) {
      names.append(' ').append(folder.getName());
    }
    throw new IOException("no artefact " + name + "; there is" + (all.isEmpty() ? " none" : names));
  }

  /** Copies a packaged folder to the app's files, once; a copy that does not match its hashes is made again. */
  private static File unpack(AssetManager assets, String from, File to) throws IOException {
    try {
      Checksums.verify(to);
      return to;
    } catch (IOException notThereYet) {
      if (!to.isDirectory() && !to.mkdirs()) {
        throw new IOException(to + " can't be made; free some storage", notThereYet);
      }
    }
    for (String name : names(assets, from)) {
      InputStream stream = assets.open(from + "/" + name);
      try {
        FileOutputStream file = new FileOutputStream(new File(to, name));
        try {
          Files.copy(stream, file);
        } finally {
          file.close();
        }
      } finally {
        stream.close();
      }
    }
    Checksums.verify(to);
    return to;
  }

  private static List<String> names(AssetManager assets, String folder) throws IOException {
    String[] names = assets.list(folder);
    return names == null ? new ArrayList<String>() : Arrays.asList(names);
  }
}
