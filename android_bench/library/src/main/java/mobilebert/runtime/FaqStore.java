package mobilebert.runtime;

import android.content.Context;
import androidx.annotation.NonNull;
import androidx.annotation.Nullable;
import java.io.File;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;

/**
 * Questions with their answers, kept on the phone, and which of them a text asks. One network is loaded, for the vectors
 * that find questions and, where the artefact is a matcher's, for the scores that rank what they find.
 *
 * <p>One object may be called from many threads. A closed one throws an {@link IllegalStateException}.
 */
public final class FaqStore implements AutoCloseable {
  private static final String PLACE = "faq";
  private static final Model.Reads READS =
      new Model.Reads() {
        @Override
        public boolean card(ArtefactCard card) {
          return card.embeddingSize > 0;
        }
      };

  private final Embedder embedder;

  /** Null where the artefact has vectors alone. */
  private final Matcher matcher;

  private final String encoder;
  private final File place;
  private final TextIndex index;

  private FaqStore(Model.Parts parts, File place) throws IOException {
    embedder = new Embedder(parts);
    matcher = parts.card.task == Task.TEXT_MATCHING ? new Matcher(parts) : null;
    encoder = parts.fingerprint;
    this.place = place;
    TextIndex saved = new SavedFolder(place).recover() ? TextIndex.read(place) : null;
    if (saved != null && encoder.equals(saved.encoder())) {
      index = saved;
      return;
    }
    index = new TextIndex(encoder, parts.card.embeddingSize);
    if (saved != null) {
      for (FaqEntry entry : saved.entries()) {
        index.put(entry, embedder.embedDocument(entry.text));
      }
    }
  }

  /**
   * Opens an artefact folder of the app's assets, which must have vectors, and the questions that were saved by a name.
   * Questions whose vectors another artefact made, or this one with other words or spelling, are read again: an inference
   * each.
   *
   * @param name of a folder among the app's files that are not backed up
   */
  @NonNull
  public static FaqStore open(
      @NonNull Context context, @NonNull String artefact, @NonNull String name, @NonNull ModelOptions options) {
    File place = new File(new File(context.getNoBackupFilesDir(), PLACE), name);
    return open(Model.Parts.open(context, artefact, READS, options), place);
  }

  /** The same with an artefact and a place anywhere. */
  @NonNull
  public static FaqStore open(@NonNull File artefact, @NonNull File place, @NonNull ModelOptions options) {
    return open(Model.Parts.open(artefact, READS, options), place);
  }

  private static FaqStore open(Model.Parts parts, File place) {
    FaqStore opened = null;
    try {
      opened = new FaqStore(parts, place);
      return opened;
    } catch (IOException error) {
      throw new ArtefactException(error.getMessage(), error);
    } finally {
      if (opened == null) {
        parts.network.close();
      }
    }
  }

  /** Number of questions. */
  public int size() {
    return index.size();
  }

  /** All questions, in no order that means anything. */
  @NonNull
  public List<FaqEntry> entries() {
    return index.entries();
  }

  /** Ids of all questions, sorted. */
  @NonNull
  public List<String> ids() {
    List<String> ids = new ArrayList<String>();
    for (FaqEntry entry : index.entries()) {
      ids.add(entry.id);
    }
    Collections.sort(ids);
    return Collections.unmodifiableList(ids);
  }

  /** The question of an id; null where there is none. */
  @Nullable
  public FaqEntry get(@NonNull String id) {
    return index.get(id);
  }

  /**
   * Writes a question in the place of the one with its id. Its vector takes an inference, unless its text is there already.
   *
   * @param cancellation ends the call early; null where nothing does
   */
  public void put(@NonNull FaqEntry entry, @Nullable Cancellation cancellation) {
    Cancellation.check(cancellation);
    FaqEntry known = index.get(entry.id);
    if (entry.equals(known)) {
      return;
    }
    boolean same = known != null && known.text.equals(entry.text);
    index.put(entry, same ? null : embedder.embedDocument(entry.text, cancellation));
  }

  /** Removes a question; was it there? */
  public boolean remove(@NonNull String id) {
    return index.remove(id);
  }

  /**
   * Takes the texts of an index that Python's Index.save wrote, from a folder or, by {@link AssetFolders#unpack}, from the
   * app's assets: each is its own id. An {@link ArtefactException} where another artefact made its vectors.
   */
  public void add(@NonNull File folder) {
    try {
      Checksums.verify(folder, Arrays.asList("vectors.npy", "scales.npy", "texts.jsonl", TextIndex.ABOUT));
      String maker = TextIndex.readEncoder(folder);
      if (!encoder.equals(maker)) {
        throw new IOException(
            folder.getName() + " has vectors of another artefact (" + maker + ", this one is " + encoder
                + "); build it again with this one and these options");
      }
      EmbeddingIndex found = EmbeddingIndex.read(folder);
      for (int i = 0; i < found.size(); i++) {
        String text = found.texts().get(i);
        index.put(new FaqEntry(text, text, null), found.vector(i));
      }
    } catch (IOException error) {
      throw new ArtefactException(error.getMessage(), error);
    }
  }

  /**
   * The questions that fit a text best, best first.
   *
   * @param candidates how many the vectors find, each of which takes the matcher an inference
   * @param most at most so many of them
   * @param cancellation ends the call early, as when more is typed; null where nothing does
   */
  @NonNull
  public List<FaqAnswer> ask(
      @NonNull String text, int candidates, int most, @Nullable Cancellation cancellation) {
    Hit.checkMost(most);
    Cancellation.check(cancellation);
    if (index.size() == 0) {
      return Collections.emptyList();
    }
    List<FaqAnswer> near = index.nearest(embedder.embedQuery(text, cancellation), Math.max(candidates, most));
    if (matcher != null) {
      List<FaqAnswer> ranked = new ArrayList<FaqAnswer>();
      for (FaqAnswer one : near) {
        Cancellation.check(cancellation);
        ranked.add(new FaqAnswer(one.entry, matcher.match(text, one.entry.text, cancellation).score));
      }
      Collections.sort(ranked, FaqAnswer.BEST_FIRST);
      near = ranked;
    }
    return Collections.unmodifiableList(new ArrayList<FaqAnswer>(near.subList(0, Math.min(most, near.size()))));
  }

  /** Writes what changed since the last time: a process that is killed meanwhile leaves the old questions, or these. */
  public void save() {
    if (!index.isChanged()) {
      return;
    }
    try {
      index.save(place);
    } catch (IOException error) {
      throw new ArtefactException(error.getMessage(), error);
    }
  }

  /** Name and version of what runs the model. */
  @NonNull
  public String runtime() {
    return embedder.runtime();
  }

  /** Gives the runtime's memory back, after the inference that is running; what was not saved is lost. */
  @Override
  public void close() {
    embedder.close();
  }
}
