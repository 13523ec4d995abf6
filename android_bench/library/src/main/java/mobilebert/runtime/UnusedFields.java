package mobilebert.runtime;

import java.io.IOException;
import java.util.Arrays;
import java.util.List;

/** Members of tokenizer.json that change no token here, but whose damage makes Python refuse the file. */
final class UnusedFields {
  private static final List<String> DECODERS =
      Arrays.asList(
          "BPEDecoder", "ByteLevel", "WordPiece", "Metaspace", "CTC", "Sequence", "Replace", "Fuse", "Strip", "ByteFallback");

  private UnusedFields() {}

  /** Throws an {@link IOException} that names the first member that is wrong. */
  static void check(Fields file) throws IOException {
    file.expect("version", "1.0");
    if (!file.isNull("truncation")) {
      Fields truncation = file.object("truncation");
      truncation.whole("max_length", 0, Integer.MAX_VALUE);
      truncation.whole("stride", 0, Integer.MAX_VALUE);
      oneOf(truncation, "strategy", "LongestFirst", "OnlyFirst", "OnlySecond");
      direction(truncation);
    }
    if (!file.isNull("padding")) {
      Fields padding = file.object("padding");
      direction(padding);
      padding.whole("pad_id", 0, Integer.MAX_VALUE);
      padding.whole("pad_type_id", 0, Integer.MAX_VALUE);
      padding.anyText("pad_token");
    }
    if (!file.isNull("decoder") && !DECODERS.contains(file.object("decoder").anyText("type"))) {
      throw file.fault("decoder is of a type that is not known");
    }
    for (Fields token : file.objects("added_tokens", Integer.MAX_VALUE)) {
      token.truth("special");
    }
    Fields post = file.isNull("post_processor") ? null : file.object("post_processor");
    if (post != null && post.is("type", "RobertaProcessing")) {
      post.truth("trim_offsets");
      post.truth("add_prefix_space");
    }
  }

  private static void direction(Fields fields) throws IOException {
    if (fields.has("direction")) {
      oneOf(fields, "direction", "Left", "Right");
    }
  }

  private static void oneOf(Fields fields, String name, String... known) throws IOException {
    if (!Arrays.asList(known).contains(fields.anyText(name))) {
      throw fields.fault(name + " is none of " + Arrays.toString(known));
    }
  }
}
