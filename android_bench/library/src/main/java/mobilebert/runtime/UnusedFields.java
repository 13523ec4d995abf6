package mobilebert.runtime;

import java.io.IOException;
import java.util.Arrays;
import java.util.List;
import java.util.Map;

/** Members of tokenizer.json that change no token here, but whose damage makes Python refuse the file. */
final class UnusedFields {
  private static final Class<String> TEXT = String.class;
  private static final Class<Boolean> TRUTH = Boolean.class;

  private UnusedFields() {}

  /** Throws an {@link IOException} that names the first member that is wrong. */
  static void check(Fields file) throws IOException {
    if (!isFinite(file.data)) {
      throw file.fault("a number is out of range");
    }
    if (file.has("version")) {
      file.expect("version", "1.0");
    }
    if (!file.lacks("truncation")) {
      Fields truncation = file.object("truncation");
      truncation.checkUnsigned("max_length", 64);
      truncation.checkUnsigned("stride", 64);
      oneOf(truncation, "strategy", "LongestFirst", "OnlyFirst", "OnlySecond");
      if (truncation.has("direction")) {
        direction(truncation);
      }
    }
    if (!file.lacks("padding")) {
      Fields padding = file.object("padding");
      direction(padding);
      padding.checkUnsigned("pad_id", 32);
      padding.checkUnsigned("pad_type_id", 32);
      padding.anyText("pad_token");
      if (!padding.lacks("pad_to_multiple_of")) {
        padding.checkUnsigned("pad_to_multiple_of", 64);
      }
      if (!padding.is("strategy", "BatchLongest")) {
        checkFixed(padding.object("strategy"));
      }
    }
    if (!file.lacks("decoder")) {
      checkDecoder(file.object("decoder"));
    }
  }

  /** Python's tokenizer reads no file with a number that a double does not hold, wherever it is. */
  private static boolean isFinite(Object value) {
    if (value instanceof Map || value instanceof List) {
      for (Object one : value instanceof Map ? ((Map<?, ?>) value).values() : (List<?>) value) {
        if (!isFinite(one)) {
          return false;
        }
      }
      return true;
    }
    return !(value instanceof Number && Double.isInfinite(((Number) value).doubleValue()));
  }

  /** A decoder is told by its members; some by their type too. */
  private static void checkDecoder(Fields one) throws IOException {
    if (one.is("type", "Sequence")) {
      for (Fields part : one.objects("decoders", Integer.MAX_VALUE)) {
        checkDecoder(part);
      }
      return;
    }
    boolean typed = one.is("type", "Fuse") || one.is("type", "ByteFallback");
    typed |= one.is("type", "ByteLevel") && one.holds(TRUTH, "add_prefix_space", "trim_offsets");
    typed |= one.is("type", "Metaspace") && one.holds(TEXT, "replacement");
    boolean words = one.holds(TEXT, "suffix") || one.holds(TEXT, "prefix") && one.holds(TRUTH, "cleanup");
    boolean ctc = one.holds(TEXT, "pad_token", "word_delimiter_token") && one.holds(TRUTH, "cleanup");
    boolean replaces = one.holds(Map.class, "pattern") && one.holds(TEXT, "content");
    boolean strips = one.holds(TEXT, "content") && one.holds(Long.class, "start", "stop");
    if (!(typed || words || ctc || replaces || strips)) {
      throw one.fault("is of a type that is not known");
    }
  }

  /** A strategy of padding to so many tokens, the only member. */
  private static void checkFixed(Fields strategy) throws IOException {
    strategy.checkUnsigned("Fixed", 64);
    if (strategy.data.size() > 1) {
      throw strategy.fault("has more than one member");
    }
  }

  private static void direction(Fields fields) throws IOException {
    oneOf(fields, "direction", "Left", "Right");
  }

  private static void oneOf(Fields fields, String name, String... known) throws IOException {
    if (!Arrays.asList(known).contains(fields.anyText(name))) {
      throw fields.fault(name + " is none of " + Arrays.toString(known));
    }
  }
}
