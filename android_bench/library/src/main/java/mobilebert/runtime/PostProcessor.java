package mobilebert.runtime;

import java.io.IOException;
import java.util.List;
import java.util.Map;

/** Which post-processor an object of tokenizer.json is: `tokenizers` tells some by their members, whatever their type. */
enum PostProcessor {
  ROBERTA,
  BERT,
  BYTE_LEVEL,
  TEMPLATE,
  SEQUENCE;

  private static final int MOST_PARTS = 8;

  /** Member "post_processor" of a file; null for none. */
  static Fields of(Fields file) throws IOException {
    return file.lacks("post_processor") ? null : file.object("post_processor");
  }

  /** Its kind; an {@link IOException} where it is none that this library knows. */
  static PostProcessor kind(Fields post) throws IOException {
    boolean trims = post.holds(Boolean.class, "trim_offsets", "add_prefix_space");
    if (isToken(post.data.get("sep")) && isToken(post.data.get("cls"))) {
      return trims ? ROBERTA : BERT;
    }
    if (trims && post.is("type", "ByteLevel")) {
      post.truthOrFalse("use_regex");
      return BYTE_LEVEL;
    }
    if (post.holds(List.class, "single", "pair") && post.holds(Map.class, "special_tokens")) {
      return TEMPLATE;
    }
    if (post.is("type", "Sequence")) {
      return SEQUENCE;
    }
    throw post.fault("it is not one that this library knows");
  }

  /** The members of a sequence. */
  static List<Fields> parts(Fields sequence) throws IOException {
    return sequence.objects("processors", MOST_PARTS);
  }

  /** Id of a token and its id, as members "sep" and "cls" are written. */
  static int id(Fields post, String name) throws IOException {
    return ((Long) post.list(name).get(1)).intValue();
  }

  private static boolean isToken(Object value) {
    if (!(value instanceof List) || ((List<?>) value).size() != 2) {
      return false;
    }
    Object id = ((List<?>) value).get(1);
    boolean named = ((List<?>) value).get(0) instanceof String && id instanceof Long;
    return named && (Long) id >= 0 && (Long) id <= Integer.MAX_VALUE;
  }
}
