package mobilebert.runtime;

import android.content.Context;
import androidx.annotation.NonNull;
import java.io.File;
import java.io.IOException;
import java.util.Map;

/**
 * A network in a runtime, with its card and tokenizer: what the classes of all tasks share.
 *
 * <p>One object may be called from many threads at once. Texts are then encoded side by side, but the network runs one
 * inference at a time, as an interpreter has one set of tensors; with one object a thread, inferences run side by side
 * and each object holds the weights. A closed object throws an {@link IllegalStateException}.
 */
public abstract class Model implements AutoCloseable {
  final ArtefactCard card;
  final TextEncoder encoder;
  private final Parts parts;
  private final Network network;
  private final int[] lengths;

  Model(Parts parts) {
    this.parts = parts;
    card = parts.card;
    encoder = parts.encoder;
    network = parts.network;
    lengths = card.lengths();
  }

  /** What a model is made of. */
  static final class Parts {
    final ArtefactCard card;
    final TextEncoder encoder;
    final Network network;

    /** Tells which artefact this is by what its vectors depend on; null of parts without a folder. */
    final String fingerprint;

    /** Under the network's lock. */
    private boolean closed;

    Parts(ArtefactCard card, TextEncoder encoder, Network network) {
      this(card, encoder, network, null);
    }

    private Parts(ArtefactCard card, TextEncoder encoder, Network network, String fingerprint) {
      this.card = card;
      this.encoder = encoder;
      this.network = network;
      this.fingerprint = fingerprint;
    }

    /** Opens a folder, every file of which is compared with its checksum first. */
    static Parts open(File folder, Reads reads, ModelOptions options) {
      try {
        return open(folder, reads, options, null);
      } catch (IOException error) {
        throw new ArtefactException(error.getMessage(), error);
      }
    }

    /** Opens a folder: one whose files were not compared yet, or a copy with a place for what is made of them. */
    private static Parts open(File folder, Reads reads, ModelOptions options, File kept) throws IOException {
      if (options.key() != null) {
        Minisign.verify(folder, options.key());
      }
      ArtefactCard card = ArtefactCard.read(folder);
      if (!reads.card(card)) {
        throw new IOException(folder.getName() + " is for " + card.task.id + ", not for this class");
      }
      Map<String, String> hashes =
          kept == null ? Checksums.verify(folder, card.files()) : Checksums.listed(folder, card.files());
      TextEncoder encoder =
          kept == null
              ? TextEncoder.read(folder, card)
              : TextEncoder.read(folder, card, kept, Checksums.fingerprint(hashes, TextEncoder.FILES));
      String fingerprint = Checksums.fingerprint(hashes, card.modelFile, "io.json", "spelling.txt", "tokenizer.json");
      if (options.respells()) {
        encoder = encoder.respelt(card.tokenizer, options.words());
        fingerprint = Checksums.sha256(fingerprint + "\n" + options.respelling());
      }
      Network network = options.backend().open(folder, card, options.threads());
      return new Parts(card, encoder, network, fingerprint);
    }

    /** Opens a folder of the app's assets, whose copy was compared with its checksums when it was made. */
    static Parts open(Context context, String folder, Reads reads, ModelOptions options) {
      try {
        File copy = AssetFolders.unpack(context, folder);
        return open(copy, reads, options, AssetFolders.kept(copy));
      } catch (IOException error) {
        throw new ArtefactException(error.getMessage(), error);
      }
    }
  }

  /** Is a class for artefacts with this card? */
  interface Reads {
    boolean card(ArtefactCard card);
  }

  /** What the artefact says of itself. */
  @NonNull
  public ArtefactCard card() {
    return card;
  }

  /** Name and version of what runs the model. */
  @NonNull
  public String runtime() {
    return network.runtime();
  }

  /** Which artefact this is, by what its vectors depend on; null of parts without a folder. */
  String fingerprint() {
    return parts.fingerprint;
  }

  int[] lengths() {
    return lengths;
  }

  /** The values of one of the network's outputs, flat; an {@link IllegalStateException} when they are not finite. */
  final float[] run(TextEncoder.Encoded input, String output) {
    float[] values;
    synchronized (network) {
      if (parts.closed) {
        throw new IllegalStateException("this model is closed");
      }
      values = network.run(input)[card.outputNames().indexOf(output)].clone();
    }
    boolean sound = values.length == card.outputSize(output, input.inputIds.length);
    for (float value : values) {
      sound &= !Float.isNaN(value) && !Float.isInfinite(value);
    }
    if (!sound) {
      throw new IllegalStateException(
          "the network's answer is not a row of finite numbers; export the artefact again");
    }
    return values;
  }

  /** Gives the runtime's memory back, after the inference that is running. */
  @Override
  public void close() {
    synchronized (network) {
      if (!parts.closed) {
        parts.closed = true;
        network.close();
      }
    }
  }
}
