package android.content;

import android.content.res.AssetManager;
import java.io.File;

/** Stands in for Android: an app's assets and its files are folders. */
public class Context {
  private final AssetManager assets;
  private final File files;

  public Context(File assets, File files) {
    this.assets = new AssetManager(assets);
    this.files = files;
  }

  public AssetManager getAssets() {
    return assets;
  }

  public File getNoBackupFilesDir() {
    return files;
  }
}
