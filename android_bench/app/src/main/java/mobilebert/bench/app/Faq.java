package mobilebert.bench.app;

import android.content.Context;
import java.io.File;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import mobilebert.runtime.ArtefactCard;
import mobilebert.runtime.Cancellation;
import mobilebert.runtime.Embedder;
import mobilebert.runtime.FaqIndex;
import mobilebert.runtime.Files;
import mobilebert.runtime.Hit;
import mobilebert.runtime.Matcher;
import mobilebert.runtime.ModelOptions;
import mobilebert.runtime.Task;

/** The app's list of questions with an embedder and, where one is there, a matcher. */
final class Faq implements LatestQuery.Questions {
  private static final int CANDIDATES = 10;
  private static final int SHOWN = 3;

  private final Embedder embedder;
  private final Matcher matcher;
  private final FaqIndex index;

  private Faq(Embedder embedder, Matcher matcher, FaqIndex index) {
    this.embedder = embedder;
    this.matcher = matcher;
    this.index = index;
  }

  /**
   * Opens the models and computes a vector for each question.
   *
   * @param name of the artefact with vectors; the first other one for matching ranks what they find
   */
  static Faq open(Context context, String name, int threads, Cancellation cancellation) throws IOException {
    List<String> questions = questions(file(context));
    ModelOptions options = new ModelOptions().threads(threads);
    Embedder embedder = Artefact.choose(context, name).embedder(options);
    Matcher matcher = null;
    Faq found = null;
    try {
      matcher = matcher(context, options);
      found = new Faq(embedder, matcher, new FaqIndex(embedder, matcher, embedder.index(questions, cancellation)));
    } finally {
      if (found == null) {
        close(embedder, matcher);
      }
    }
    return found;
  }

  /** Where the questions are looked for. */
  static File file(Context context) {
    return new File(context.getExternalFilesDir(null), "faq.txt");
  }

  @Override
  public List<Hit> ask(String query, Cancellation cancellation) {
    return index.ask(query, CANDIDATES, SHOWN, cancellation);
  }

  private static List<String> questions(File file) throws IOException {
    List<String> found = new ArrayList<String>();
    for (String line : Files.readText(file).split("\n")) {
      if (!line.trim().isEmpty()) {
        found.add(line.trim());
      }
    }
    return found;
  }

  private static Matcher matcher(Context context, ModelOptions options) throws IOException {
    for (Artefact one : Artefact.all(context)) {
      if (ArtefactCard.read(one.folder()).task == Task.TEXT_MATCHING) {
        return one.matcher(options);
      }
    }
    return null;
  }

  @Override
  public void close() {
    close(embedder, matcher);
  }

  private static void close(Embedder embedder, Matcher matcher) {
    embedder.close();
    if (matcher != null) {
      matcher.close();
    }
  }
}
