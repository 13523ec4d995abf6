package mobilebert.bench.app;

import android.content.Context;
import java.io.File;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import mobilebert.runtime.AssetFolders;
import mobilebert.runtime.Embedder;
import mobilebert.runtime.Matcher;
import mobilebert.runtime.ModelOptions;

/** The artefact folders this app can use: those packaged with it, and those copied to its own storage with adb. */
final class Artefacts {
  private static final String ASSETS = "artefacts";

  private Artefacts() {}

  /** Where `adb push` puts artefact folders. */
  static File storage(Context context) {
    return new File(context.getExternalFilesDir(null), ASSETS);
  }

  /** Names of all artefact folders, packaged ones first. */
  static List<String> names(Context context) throws IOException {
    List<String> found = new ArrayList<String>(packaged(context));
    File[] copied = storage(context).listFiles();
    for (File folder : copied == null ? new File[0] : copied) {
      if (new File(folder, "io.json").isFile()) {
        found.add(folder.getName());
      }
    }
    return found;
  }

  /** The folder of this name, or the only one for null; a packaged one is unpacked first. */
  static File folder(Context context, String name) throws IOException {
    String chosen = choose(context, name);
    return packaged(context).contains(chosen)
        ? AssetFolders.unpack(context, ASSETS + "/" + chosen)
        : new File(storage(context), chosen);
  }

  /** Opens the matcher of this name, or the only one for null. */
  static Matcher matcher(Context context, String name, ModelOptions options) throws IOException {
    String chosen = choose(context, name);
    return packaged(context).contains(chosen)
        ? Matcher.load(context, ASSETS + "/" + chosen, options)
        : Matcher.load(new File(storage(context), chosen), options);
  }

  /** Opens an artefact that has vectors, as {@link #matcher}. */
  static Embedder embedder(Context context, String name, ModelOptions options) throws IOException {
    String chosen = choose(context, name);
    return packaged(context).contains(chosen)
        ? Embedder.load(context, ASSETS + "/" + chosen, options)
        : Embedder.load(new File(storage(context), chosen), options);
  }

  private static String choose(Context context, String name) throws IOException {
    List<String> all = names(context);
    if (name == null && all.size() == 1) {
      return all.get(0);
    }
    if (!all.contains(name)) {
      throw new IOException("no artefact " + name + "; there is " + (all.isEmpty() ? "none" : all));
    }
    return name;
  }

  private static List<String> packaged(Context context) throws IOException {
    String[] names = context.getAssets().list(ASSETS);
    return names == null ? new ArrayList<String>() : Arrays.asList(names);
  }
}
