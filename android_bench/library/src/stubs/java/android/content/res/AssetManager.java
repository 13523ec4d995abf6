package android.content.res;

import java.io.IOException;
import java.io.InputStream;

/** Signatures the library uses, for a build without Android's class stubs; never packaged. */
public final class AssetManager {
  public String[] list(String path) throws IOException {
    throw new UnsupportedOperationException();
  }

  public InputStream open(String name) throws IOException {
    throw new UnsupportedOperationException();
  }
}
