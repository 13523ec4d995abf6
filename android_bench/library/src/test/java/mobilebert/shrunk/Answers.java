package mobilebert.shrunk;

import java.io.File;
import java.util.Arrays;
import java.util.List;
import mobilebert.runtime.ArtefactCard;
import mobilebert.runtime.ArtefactException;
import mobilebert.runtime.Embedder;
import mobilebert.runtime.EmbeddingIndex;
import mobilebert.runtime.FaqIndex;
import mobilebert.runtime.Hit;
import mobilebert.runtime.LabelScore;
import mobilebert.runtime.LabelledSpan;
import mobilebert.runtime.Matcher;
import mobilebert.runtime.ModelOptions;
import mobilebert.runtime.QuestionAnswerer;
import mobilebert.runtime.TextClassifier;
import mobilebert.runtime.TokenClassifier;

/** An app that asks an artefact of each task the same texts and prints all it sees; run before and after a shrinker. */
public final class Answers {
  private static final List<String> TEXTS =
      Arrays.asList(
          "How old is the Moon?", "What is the age of the Moon?", "na\u00efve caf\u00e9s in Troms\u00f8 \u6570\u5b66", "the wether tommorow, in \u00dcber");

  private Answers() {}

  /** Arguments: artefact folders. */
  public static void main(String[] folders) throws Exception {
    for (String name : folders) {
      File folder = new File(name);
      ArtefactCard card = ArtefactCard.read(folder);
      System.out.println(folder.getName() + " " + card.task.id + " " + card.labels);
      try {
        ask(folder, card);
      } catch (ArtefactException error) {
        System.out.println("refused: " + error.getMessage());
      }
    }
  }

  private static void ask(File folder, ArtefactCard card) {
    ModelOptions options = new ModelOptions().threads(1);
    switch (card.task) {
      case TEXT_MATCHING:
        try (Matcher matcher = Matcher.load(folder, options)) {
          System.out.println(matcher.runtime());
          Matcher.Answer answer = matcher.match(TEXTS.get(0), TEXTS.get(1));
          System.out.println(answer.score + " " + answer.label + " " + answer.tokens + " " + answer.length);
          print(matcher.rank(TEXTS.get(0), TEXTS, 3, null));
        }
        break;
      case SENTENCE_EMBEDDING:
        try (Embedder embedder = Embedder.load(folder, options)) {
          System.out.println(Arrays.toString(embedder.embed(TEXTS.get(2))));
          EmbeddingIndex index = embedder.index(TEXTS, null);
          print(new FaqIndex(embedder, null, index).ask(TEXTS.get(1), 3, 2, null));
        }
        break;
      case TEXT_CLASSIFICATION:
        try (TextClassifier classifier = TextClassifier.load(folder, options)) {
          for (LabelScore one : classifier.classify(TEXTS.get(0), card.texts == 2 ? TEXTS.get(1) : null)) {
            System.out.println(one.label + " " + one.score);
          }
        }
        break;
      case TOKEN_CLASSIFICATION:
        try (TokenClassifier tagger = TokenClassifier.load(folder, options)) {
          for (LabelledSpan one : tagger.tag(TEXTS.get(2))) {
            System.out.println(one.label + " " + one.score + " " + one.start + " " + one.end + " " + one.text);
          }
        }
        break;
      default:
        try (QuestionAnswerer reader = QuestionAnswerer.load(folder, options)) {
          QuestionAnswerer.Answer one = reader.answer(TEXTS.get(0), TEXTS.get(1) + " " + TEXTS.get(2));
          System.out.println(one.text + " " + one.score + " " + one.start + " " + one.end);
        }
    }
  }

  private static void print(List<Hit> hits) {
    for (Hit hit : hits) {
      System.out.println(hit.place + " " + hit.score + " " + hit.text);
    }
  }
}
