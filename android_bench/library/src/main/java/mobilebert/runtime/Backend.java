package mobilebert.runtime;

import androidx.annotation.NonNull;
import java.io.File;
import java.io.IOException;

/** Opens model files in a runtime. */
public interface Backend {
  /**
   * Opens the model file of an artefact folder.
   *
   * @param threads of one inference
   * @throws IOException when the runtime is not there, or refuses the file
   */
  @NonNull
  Network open(@NonNull File folder, @NonNull ArtefactCard card, int threads) throws IOException;
}
