package mobilebert.runtime;

import java.io.IOException;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;

/** What an encoder puts before a text, by name: members "prompts" and "default_prompt" of a card's embedding. */
final class Prompts {
  static final Prompts NONE = new Prompts(Collections.<String, String>emptyMap(), null);

  private static final int MOST = 64;
  private static final int LONGEST_NAME = 64;
  private static final int LONGEST = 4000;
  private static final String[] OF_DOCUMENTS = {"document", "passage", "corpus"};

  final Map<String, String> byName;

  /** Name of the prompt that is taken where none is asked for; or null. */
  private final String byDefault;

  private Prompts(Map<String, String> byName, String byDefault) {
    this.byName = Collections.unmodifiableMap(byName);
    this.byDefault = byDefault;
  }

  static Prompts read(Fields embedding) throws IOException {
    if (!embedding.has("prompts")) {
      return NONE;
    }
    Fields given = embedding.object("prompts");
    Map<String, String> found = new LinkedHashMap<String, String>();
    for (Object key : given.data.keySet()) {
      String name = given.printable("the name of a prompt", key, LONGEST_NAME);
      String text = given.anyText(name);
      if (text.codePointCount(0, text.length()) > LONGEST) {
        throw given.fault("prompt " + name + " has more than " + LONGEST + " characters");
      }
      found.put(name, text);
    }
    String byDefault = embedding.isNull("default_prompt") ? null : embedding.anyText("default_prompt");
    if (found.size() > MOST || byDefault != null && !found.containsKey(byDefault)) {
      throw embedding.fault("more than " + MOST + " prompts, or default_prompt is none of them");
    }
    return new Prompts(found, byDefault);
  }

  /** The text with the default prompt. */
  String before(String text) {
    return byDefault == null ? text : byName.get(byDefault) + text;
  }

  /** The text with the prompt of a name; throws an {@link IllegalArgumentException} where there is none. */
  String before(String text, String name) {
    if (!byName.containsKey(name)) {
      throw new IllegalArgumentException("the model has no prompt " + name + "; it has " + byName.keySet());
    }
    return byName.get(name) + text;
  }

  /** The text with the prompt of queries, as sentence-transformers chooses it. */
  String beforeQuery(String text) {
    return byName.containsKey("query") ? before(text, "query") : before(text);
  }

  /** The text with the prompt of documents, as sentence-transformers chooses it. */
  String beforeDocument(String text) {
    for (String name : OF_DOCUMENTS) {
      if (byName.containsKey(name)) {
        return before(text, name);
      }
    }
    return before(text);
  }
}
