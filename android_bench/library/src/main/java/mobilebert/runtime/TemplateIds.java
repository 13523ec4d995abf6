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
    Fields post = PostProcessor.of(file);
    if (post != null && PostProcessor.kind(post) == PostProcessor.SEQUENCE) {
      post = last(post);
    }
    PostProcessor kind = post == null ? PostProcessor.BYTE_LEVEL : PostProcessor.kind(post);
    IntList ids = new IntList(8);
    IntList types = new IntList(8);
    if (kind == PostProcessor.TEMPLATE) {
      readItems(post, pair, ids, types);
    } else if (kind == PostProcessor.BERT || kind == PostProcessor.ROBERTA) {
      readFixed(post, kind == PostProcessor.ROBERTA, pair, ids, types);
    } else if (kind == PostProcessor.BYTE_LEVEL) {
      ids.add(FIRST_TEXT);
      types.add(0);
      if (pair) {
        ids.add(SECOND_TEXT);
        types.add(1);
      }
    } else {
      throw post.fault("it is a sequence in a sequence, which this library does not know");
    }
    return new TemplateIds(ids, types);
  }

  /** The member of a sequence that has a template, if any; the others only trim. */
  private static Fields last(Fields sequence) throws IOException {
    Fields found = null;
    for (Fields one : PostProcessor.parts(sequence)) {
      found = found == null || PostProcessor.kind(found) == PostProcessor.BYTE_LEVEL ? one : found;
    }
    return found;
  }

  private static void readItems(Fields post, boolean pair, IntList ids, IntList types) throws IOException {
    Fields special = post.object("special_tokens");
    for (Object name : special.data.keySet()) {
      checkSpecial(special.object((String) name));
    }
    for (Fields item : post.objects(pair ? "pair" : "single", 64)) {
      boolean text = item.has("Sequence");
      Fields one = item.object(text ? "Sequence" : "SpecialToken");
      int type = one.whole("type_id", 0, Integer.MAX_VALUE);
      if (text) {
        if (!one.is("id", "A") && !one.is("id", "B")) {
          throw one.fault("id is neither A nor B");
        }
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

  /** A special token's name, its ids, and their names. */
  private static void checkSpecial(Fields token) throws IOException {
    token.anyText("id");
    token.wholes("ids", token.list("ids").size());
    for (Object name : token.list("tokens")) {
      if (!(name instanceof String)) {
        throw token.fault("tokens are not all texts");
      }
    }
  }

  /** BERT: [CLS] a [SEP] b [SEP], the second text of type 1; RoBERTa: one more separator between them, all of type 0. */
  private static void readFixed(Fields post, boolean roberta, boolean pair, IntList ids, IntList types)
      throws IOException {
    int second = roberta ? 0 : 1;
    int end = PostProcessor.id(post, "sep");
    List<int[]> items = new ArrayList<int[]>();
    items.add(new int[] {PostProcessor.id(post, "cls"), 0});
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
