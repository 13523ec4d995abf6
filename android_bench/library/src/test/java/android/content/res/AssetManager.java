package android.content.res;

import java.io.File;
import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStream;

/** Stands in for Android: a folder. */
public final class AssetManager {
  private final File folder;

  /** Of the stand-in: how often a file was opened. */
  public int opened;

  public AssetManager(File folder) {
    this.folder = folder;
  }

  public String[] list(String path) throws IOException {
    String[] names = new File(folder, path).list();
    return names == null ? new String[0] : names;
  }

  public InputStream open(String name) throws IOException {
    opened++;
    return new FileInputStream(new File(folder, name));
  }
}
