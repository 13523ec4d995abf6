package mobilebert.runtime;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Special tokens around one text or two, in the syntax of TemplateProcessing: "[CLS]", "$A", "$B:1", "[SEP]:1".
 * Immutable: threads may share one.
 */
final class Template {
  private static final int MOST_SPECIALS = 8;
  private static final int LONGEST_ITEM = 200;

  /** Special token or text of each item. */
  final List<String> names = new ArrayList<String>();

  /** Token type of each item. */
  final List<Integer> types = new ArrayList<Integer>();

  private Template(List<String> items) {
    for (String item : items) {
      names.add(name(item));
      types.add(type(item));
    }
  }

  /** A list of items that has these texts once and in this order; the token type is 0 where an item says none. */
  static Template read(Fields fields, String name, String... texts) throws IOException {
    List<String> items = new ArrayList<String>();
    for (Object value : fields.list(name)) {
      String item = fields.printable(name, value, LONGEST_ITEM);
      items.add(item.endsWith(":0") && item.length() > 2 ? item.substring(0, item.length() - 2) : item);
    }
    Template found = new Template(items);
    List<String> held = new ArrayList<String>();
    for (String item : found.names) {
      if (isText(item)) {
        held.add(item);
      }
    }
    if (!held.equals(Arrays.asList(texts))) {
      throw fields.fault("template " + name + " does not hold " + Arrays.toString(texts) + " in this order");
    }
    int specials = found.names.size() - texts.length;
    if (specials > MOST_SPECIALS) {
      throw fields.fault("template " + name + " has more than " + MOST_SPECIALS + " special tokens");
    }
    return found;
  }

  static boolean isText(String name) {
    return name.equals("$A") || name.equals("$B");
  }

  private static boolean hasType(String item) {
    return item.length() > 2 && (item.endsWith(":1") || item.endsWith(":0"));
  }

  private static String name(String item) {
    return hasType(item) ? item.substring(0, item.length() - 2) : item;
  }

  private static int type(String item) {
    return hasType(item) && item.endsWith(":1") ? 1 : 0;
  }
}
