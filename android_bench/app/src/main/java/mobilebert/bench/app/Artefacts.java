package mobilebert.bench.app;

import android.content.Context;
import android.content.res.AssetManager;
import java.io.File;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import mobilebert.runtime.AssetFolders;
import mobilebert.runtime.Checksums;

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
      found.add(AssetFolders.unpack(context, ASSETS + "/" + name));
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

  private static List<String> names(AssetManager assets, String folder) throws IOException {
    String[] names = assets.list(folder);
    return names == null ? new ArrayList<String>() : Arrays.asList(names);
  }
}
