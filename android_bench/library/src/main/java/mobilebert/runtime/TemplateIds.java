package mobilebert.runtime;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/** A template with the ids of its special tokens. Immutable: threads may share one. */
final class TemplateIds {
  private static final int FIRST_TEXT = -1;
  private static final int SECOND_TEXT = -2;

  /** Id of each item; of a text, one of the two marks. */
  private final int[] ids;

  private final int[] types;

  /** Number of special tokens. */
  final int size;

  private TemplateIds(IntList ids, IntList types) {
    this.ids = ids.toArray();
    this.types = types.toArray();
    int special = 0;
    for (int id : this.ids) {
      special += id >= 0 ? 1 : 0;
    }
    size = special;
  }

  /** Looks up the tokens of a card's template; throws where the vocabulary lacks one. */
  static TemplateIds of(Template template, Tokenizer tokenizer) throws IOException {
    IntList ids = new IntList(8);
    IntList types = new IntList(8);
    for (int i = 0; i < template.names.size(); i++) {
      String name = template.names.get(i);
      Integer id = Template.isText(name) ? mark(name.equals("$A")) : tokenizer.id(name);
      if (id == null) {
        throw new IOException("tokenizer.json has no " + name + ", which io.json names; export the artefact again");
      }
      ids.add(id);
      types.add(template.types.get(i));
    }
    return new TemplateIds(ids, types);
  }

  /** What member "post_processor" of tokenizer.json puts around one text or two. */
  static TemplateIds read(Fields file, boolean pair) throws IOException {
    Fields post = file.isNull("post_processor") ? null : file.object("post_processor");
    if (post != null && post.is("type", "Sequence")) {
      post = last(post);
    }
    IntList ids = new IntList(8);
    IntList types = new IntList(8);
    if (post != null && post.is("type", "TemplateProcessing")) {
      readItems(post, pair, ids, types);
    } else if (post != null && (post.is("type", "BertProcessing") || post.is("type", "RobertaProcessing"))) {
      readFixed(post, pair, ids, types);
    } else if (post == null || post.is("type", "ByteLevel")) {
      ids.add(FIRST_TEXT);
      types.add(0);
      if (pair) {
        ids.add(SECOND_TEXT);
        types.add(1);
      }
    } else {
      throw post.fault("its type is not one that this library knows");
    }
    return new TemplateIds(ids, types);
  }

  /** The member of a sequence that has a template, if any; the others only trim. */
  private static Fields last(Fields sequence) throws IOException {
    Fields found = null;
    for (Fields one : sequence.objects("processors", 8)) {
      found = found == null || found.is("type", "ByteLevel") ? one : found;
    }
    return found;
  }

  private static void readItems(Fields post, boolean pair, IntList ids, IntList types) throws IOException {
    Fields special = post.object("special_tokens");
    for (Fields item : post.objects(pair ? "pair" : "single", 64)) {
      boolean text = item.has("Sequence");
      Fields one = item.object(text ? "Sequence" : "SpecialToken");
      int type = one.whole("type_id", 0, Integer.MAX_VALUE);
      if (text) {
        ids.add(mark(one.is("id", "A")));
        types.add(type);
        continue;
      }
      List<?> numbers = special.object(one.anyText("id")).list("ids");
      for (int id : special.object(one.anyText("id")).wholes("ids", numbers.size())) {
        ids.add(id);
        types.add(type);
      }
    }
  }

  /** BERT: [CLS] a [SEP] b [SEP], the second text of type 1; RoBERTa: one more separator between them, all of type 0. */
  private static void readFixed(Fields post, boolean pair, IntList ids, IntList types) throws IOException {
    boolean roberta = post.is("type", "RobertaProcessing");
    int second = roberta ? 0 : 1;
    int end = idOf(post, "sep");
    List<int[]> items = new ArrayList<int[]>();
    items.add(new int[] {idOf(post, "cls"), 0});
    items.add(new int[] {FIRST_TEXT, 0});
    items.add(new int[] {end, 0});
    if (pair) {
      if (roberta) {
        items.add(new int[] {end, 0});
      }
      items.add(new int[] {SECOND_TEXT, second});
      items.add(new int[] {end, second});
    }
    for (int[] item : items) {
      ids.add(item[0]);
      types.add(item[1]);
    }
  }

  private static int idOf(Fields post, String name) throws IOException {
    List<?> entry = post.list(name);
    Object id = entry.size() == 2 ? entry.get(1) : null;
    if (!(entry.size() == 2 && entry.get(0) instanceof String && id instanceof Long) || (Long) id < 0 || (Long) id > Integer.MAX_VALUE) {
      throw post.fault(name + " is not a token and its id");
    }
    return ((Long) id).intValue();
  }

  private static int mark(boolean first) {
    return first ? FIRST_TEXT : SECOND_TEXT;
  }

  boolean same(TemplateIds other) {
    return java.util.Arrays.equals(ids, other.ids) && java.util.Arrays.equals(types, other.types);
  }

  /** Where the tokens of a text begin, of the second one after so many of the first. */
  int place(boolean first, int before) {
    int at = 0;
    for (int id : ids) {
      if (id == mark(first)) {
        break;
      }
      at += id >= 0 ? 1 : before;
    }
    return at;
  }

  /** Writes special tokens and texts into rows that are long enough. */
  void fill(int[] rowIds, int[] rowTypes, int[] a, int fromA, int countA, int[] b, int fromB, int countB) {
    int at = 0;
    for (int i = 0; i < ids.length; i++) {
      int before = at;
      if (ids[i] >= 0) {
        rowIds[at++] = ids[i];
      } else {
        boolean first = ids[i] == FIRST_TEXT;
        int count = first ? countA : countB;
        System.arraycopy(first ? a : b, first ? fromA : fromB, rowIds, at, count);
        at += count;
      }
      java.util.Arrays.fill(rowTypes, before, at, types[i]);
    }
  }
}
