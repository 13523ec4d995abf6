package mobilebert.bench.app;

import android.content.Context;
import java.io.File;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import mobilebert.runtime.AssetFolders;
import mobilebert.runtime.Embedder;
import mobilebert.runtime.Matcher;
import mobilebert.runtime.ModelOptions;

/** An artefact folder that this app can use: packaged with it, or copied to its own storage with adb. */
final class Artefact {
  private static final String PLACE = "artefacts";

  final String name;

  private final Context context;

  /** Its folder in the storage; null where it is packaged. */
  private final File stored;

  private Artefact(Context context, String name, File stored) {
    this.context = context;
    this.name = name;
    this.stored = stored;
  }

  /** Where folders are copied to with adb. */
  static File storage(Context context) {
    return new File(context.getExternalFilesDir(null), PLACE);
  }

  /** All of them, packaged ones first. */
  static List<Artefact> all(Context context) throws IOException {
    List<Artefact> found = new ArrayList<Artefact>();
    String[] packaged = context.getAssets().list(PLACE);
    for (String name : packaged == null ? new String[0] : packaged) {
      found.add(new Artefact(context, name, null));
    }
    File[] copied = storage(context).listFiles();
    for (File folder : copied == null ? new File[0] : copied) {
      if (new File(folder, "io.json").isFile()) {
        found.add(new Artefact(context, folder.getName(), folder));
      }
    }
    return found;
  }

  /** The one of this name, or the only one for null. */
  static Artefact choose(Context context, String name) throws IOException {
    List<Artefact> all = all(context);
    List<String> names = new ArrayList<String>();
    for (Artefact one : all) {
      if (one.name.equals(name) || name == null && all.size() == 1) {
        return one;
      }
      names.add(one.name);
    }
    throw new IOException("no artefact " + name + "; there is " + (names.isEmpty() ? "none" : names));
  }

  /** Its folder; a packaged one is unpacked first. */
  File folder() throws IOException {
    return stored == null ? AssetFolders.unpack(context, asset()) : stored;
  }

  /** Opens it as a matcher. */
  Matcher matcher(ModelOptions options) {
    return stored == null ? Matcher.load(context, asset(), options) : Matcher.load(stored, options);
  }

  /** Opens it for its vectors. */
  Embedder embedder(ModelOptions options) {
    return stored == null ? Embedder.load(context, asset(), options) : Embedder.load(stored, options);
  }

  private String asset() {
    return PLACE + "/" + name;
  }
}
