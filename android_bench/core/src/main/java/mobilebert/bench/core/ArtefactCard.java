package mobilebert.bench.core;

import java.io.File;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;

/**
 * io.json of an artefact folder: what the network reads, and how its logits become a decision.
 *
 * <p>What mobilebert_runtime/card.py refuses is refused here. Immutable: threads may share one.
 */
public final class ArtefactCard {
  /** Format 1 knew one sequence length and no name for it. */
  private static final int OLDEST_FORMAT = 1;

  /** Came with the length shift. */
  private static final int NEWEST_FORMAT = 3;

  private static final int LEAST_TOKENS = 3;
  private static final int MOST_TOKENS = 1 << 16;
  private static final int MOST_BUCKETS = 64;
  private static final int MOST_LABELS = 1000;
  private static final double LOWEST_TEMPERATURE = 1e-3;
  private static final double HIGHEST_TEMPERATURE = 1e3;
  private static final Pattern VERSION = Pattern.compile("[0-9]{1,6}(\\.[0-9]{1,6}){0,3}");

  public final String target;
  public final String quant;
  public final String modelFile;
  /** Tokens of the longest bucket; longer pairs are cut to it. */
  public final int seqLen;

  public final List<String> labels;
  public final int positive;
  public final double threshold;
  public final double temperature;
  /** What the lengths of a pair add to the log-odds of the positive label. */
  public final LengthShift lengthShift;

  private final List<Bucket> buckets;

  /** A sequence length the model file can be run at. */
  public static final class Bucket {
    public final int seqLen;
    /** Name of the .tflite signature; null where the file has only one, or takes any length (.onnx). */
    public final String signature;

    Bucket(int seqLen, String signature) {
      this.seqLen = seqLen;
      this.signature = signature;
    }
  }

  private ArtefactCard(Fields fields) throws IOException {
    int format = fields.whole("format", OLDEST_FORMAT, NEWEST_FORMAT);
    target = fields.text("target");
    modelFile = fields.text("model_file");
    if (!(target.equals("tflite") || target.equals("onnx")) || !modelFile.equals("model." + target)) {
      throw fields.fault("target and model_file are neither tflite and model.tflite nor onnx and model.onnx");
    }
    quant = fields.text("quant");
    seqLen = fields.whole("seq_len", LEAST_TOKENS, MOST_TOKENS);
    buckets =
        format == OLDEST_FORMAT ? Collections.singletonList(new Bucket(seqLen, null)) : readBuckets(fields, seqLen);
    labels = Collections.unmodifiableList(fields.texts("labels", 2, MOST_LABELS));
    positive = fields.whole("positive", 0, labels.size() - 1);
    threshold = fields.number("threshold", 0, 1);
    temperature = fields.number("temperature", LOWEST_TEMPERATURE, HIGHEST_TEMPERATURE);
    fields.number("attention_mask_value", -LengthShift.FLOAT32, 0);
    boolean shifted = format == NEWEST_FORMAT && !fields.isNull("length_shift");
    lengthShift = shifted ? new LengthShift(fields.object("length_shift")) : LengthShift.NONE;
    checkTokenizer(fields);
    checkVersions(fields.object("minimum_runtime"));
    List<Object> inputs = new ArrayList<Object>();
    for (String name : new String[] {"input_ids", "attention_mask", "token_type_ids"}) {
      inputs.add(tensor(name, "int32", seqLen));
    }
    fields.expect("inputs", inputs);
    fields.expect("outputs", Collections.singletonList(tensor("logits", "float32", labels.size())));
  }

  /** Reads io.json of a folder; throws an {@link IOException} that names the first field that is wrong. */
  public static ArtefactCard read(File folder) throws IOException {
    return new ArtefactCard(Fields.read(new File(folder, "io.json")));
  }

  /** Sequence lengths of the buckets, ascending: what {@link PairEncoder#encode} chooses from. */
  public int[] lengths() {
    int[] lengths = new int[buckets.size()];
    for (int i = 0; i < lengths.length; i++) {
      lengths[i] = buckets.get(i).seqLen;
    }
    return lengths;
  }

  /** All buckets, ascending. */
  public List<Bucket> buckets() {
    return buckets;
  }

  /**
   * Probability of the positive label of a pair: softmax of logits / temperature, what its lengths add to the
   * positive one, in double, rounded to float once.
   */
  public float probability(float[] logits, String textA, String textB) {
    double[] scaled = new double[logits.length];
    double largest = Double.NEGATIVE_INFINITY;
    for (int i = 0; i < logits.length; i++) {
      scaled[i] = logits[i] / temperature;
      if (i == positive) {
        scaled[i] += lengthShift.of(textA, textB);
      }
      largest = Math.max(largest, scaled[i]);
    }
    double sum = 0;
    for (double value : scaled) {
      sum += Math.exp(value - largest);
    }
    return (float) (Math.exp(scaled[positive] - largest) / sum);
  }

  /** The positive label at and above the threshold; below it the other one, of two labels, else "not" it. */
  public String label(float probability) {
    String name = labels.get(positive);
    if (probability >= threshold) {
      return name;
    }
    return labels.size() == 2 ? labels.get(1 - positive) : "not " + name;
  }

  private static List<Bucket> readBuckets(Fields fields, int longest) throws IOException {
    List<Bucket> found = new ArrayList<Bucket>();
    int shorter = 0;
    for (Fields entry : fields.objects("buckets", MOST_BUCKETS)) {
      int length = entry.whole("seq_len", LEAST_TOKENS, MOST_TOKENS);
      if (length <= shorter) {
        throw fields.fault("buckets do not grow");
      }
      shorter = length;
      found.add(new Bucket(length, entry.isNull("signature") ? null : entry.text("signature")));
    }
    if (shorter != longest) {
      throw fields.fault("buckets do not end in seq_len");
    }
    return Collections.unmodifiableList(found);
  }

  private static void checkTokenizer(Fields fields) throws IOException {
    boolean lowercase = fields.object("tokenizer").truth("lowercase");
    Map<String, Object> expected = new LinkedHashMap<String, Object>();
    expected.put("vocab", "vocab.txt");
    expected.put("file", "tokenizer.json");
    expected.put("lowercase", lowercase);
    expected.put("truncation", "longest_first");
    fields.expect("tokenizer", expected);
    if (!lowercase) {
      throw new IOException("io.json asks for a cased tokenizer; this app has the lower-casing one");
    }
  }

  private static void checkVersions(Fields versions) throws IOException {
    for (Object name : versions.data.keySet()) {
      if (!VERSION.matcher(versions.text((String) name)).matches()) {
        throw versions.fault("it has an entry that is not a version such as 2.14");
      }
    }
  }

  private static Map<String, Object> tensor(String name, String type, int width) {
    Map<String, Object> tensor = new LinkedHashMap<String, Object>();
    tensor.put("name", name);
    tensor.put("dtype", type);
    tensor.put("shape", Arrays.asList(1, width));
    return tensor;
  }
}
