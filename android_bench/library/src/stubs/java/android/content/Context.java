package android.content;

import android.content.res.AssetManager;
import java.io.File;

/** Signatures the library uses, for a build without Android's class stubs; never packaged. */
public abstract class Context {
  public abstract AssetManager getAssets();

  public abstract File getNoBackupFilesDir();
}
