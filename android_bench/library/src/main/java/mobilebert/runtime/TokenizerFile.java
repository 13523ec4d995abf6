package mobilebert.runtime;

import java.io.File;
import java.io.IOException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** tokenizer.json, by which Python splits texts: compared with what this package does, which reads vocab.txt. */
final class TokenizerFile {
  private TokenizerFile() {}

  /** Throws an {@link IOException} unless it is a lower-casing BERT's WordPiece over exactly these entries. */
  static void check(File file, Map<String, Integer> vocabulary) throws IOException {
    Fields fields = Fields.read(file);
    Fields rules = fields.object("normalizer");
    rules.expect("type", "BertNormalizer");
    for (String rule : new String[] {"clean_text", "handle_chinese_chars", "lowercase"}) {
      if (!rules.truth(rule)) {
        throw rules.fault(rule + " is off, which is not a lower-casing BERT's");
      }
    }
    if (!rules.isNull("strip_accents") && !rules.truth("strip_accents")) {
      throw rules.fault("strip_accents is off, which is not a lower-casing BERT's");
    }
    fields.object("pre_tokenizer").expect("type", "BertPreTokenizer");
    Fields model = fields.object("model");
    model.expect("type", "WordPiece");
    model.expect("unk_token", "[UNK]");
    model.expect("continuing_subword_prefix", "##");
    model.expect("max_input_chars_per_word", WordPiece.LONGEST_WORD);
    if (!entries(fields, model.object("vocab")).equals(vocabulary)) {
      throw fields.fault("its entries are not those of vocab.txt");
    }
  }

  private static Map<String, Integer> entries(Fields fields, Fields vocab) throws IOException {
    Map<String, Integer> found = new HashMap<String, Integer>();
    for (Object token : vocab.data.keySet()) {
      found.put((String) token, vocab.whole((String) token, 0, Integer.MAX_VALUE));
    }
    List<Fields> added = fields.objects("added_tokens", Integer.MAX_VALUE);
    for (Fields token : added) {
      found.put(token.text("content"), token.whole("id", 0, Integer.MAX_VALUE));
    }
    return found;
  }
}
