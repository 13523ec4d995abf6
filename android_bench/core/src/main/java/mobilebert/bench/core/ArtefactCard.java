package mobilebert.bench.core;

import java.io.File;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;

/** io.json of an artefact folder: what the network reads, and how its logits become a decision. */
public final class ArtefactCard {
  /** Format 1 knew one sequence length and no name for it. */
  private static final int OLDEST_FORMAT = 1;

  private static final int NEWEST_FORMAT = 3;

  public final String target;
  public final String quant;
  public final String modelFile;
  public final String vocabFile;
  /** Tokens of the longest bucket; longer pairs are cut to it. */
  public final int seqLen;

  public final List<String> labels = new ArrayList<String>();
  public final int positive;
  public final double threshold;
  public final double temperature;
  /** What the lengths of a pair add to the log-odds of the positive label. */
  public final LengthShift lengthShift;

  private final List<Bucket> buckets = new ArrayList<Bucket>();

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

  private ArtefactCard(Map<String, Object> data) throws IOException {
    target = text(data, "target");
    quant = text(data, "quant");
    modelFile = text(data, "model_file");
    vocabFile = text(object(data, "tokenizer"), "vocab");
    seqLen = (int) number(data, "seq_len");
    if (number(data, "format") == OLDEST_FORMAT) {
      buckets.add(new Bucket(seqLen, null));
    } else {
      readBuckets(data);
    }
    for (Object label : list(data, "labels")) {
      labels.add(String.valueOf(label));
    }
    positive = (int) number(data, "positive");
    threshold = number(data, "threshold");
    temperature = number(data, "temperature");
    if (number(data, "format") == NEWEST_FORMAT && !data.containsKey("length_shift")) {
      throw new IOException("io.json: field length_shift is missing; export the artefact again");
    }
    lengthShift =
        data.get("length_shift") == null ? LengthShift.NONE : new LengthShift(object(data, "length_shift"));
    if (modelFile.contains("/") || vocabFile.contains("/")) {
      throw new IOException("io.json names a file outside its folder; export the artefact again");
    }
    int shorter = 2;
    for (Bucket bucket : buckets) {
      if (bucket.seqLen <= shorter) {
        throw new IOException("io.json has buckets that do not grow; export the artefact again");
      }
      shorter = bucket.seqLen;
    }
    if (shorter != seqLen || labels.size() < 2 || positive < 0 || positive >= labels.size() || !(temperature > 0)) {
      throw new IOException("io.json has impossible values; export the artefact again");
    }
  }

  /** Reads io.json of a folder whose files were checked by {@link Checksums#verify}. */
  public static ArtefactCard read(File folder) throws IOException {
    Map<String, Object> data = Json.parseObject(Files.readText(new File(folder, "io.json")));
    double format = number(data, "format");
    if (!(format >= OLDEST_FORMAT && format <= NEWEST_FORMAT)) {
      throw new IOException("io.json has another format than 1, 2 and 3; export the artefact again");
    }
    if (!Boolean.TRUE.equals(object(data, "tokenizer").get("lowercase"))) {
      throw new IOException("io.json asks for a cased tokenizer; this app has the lower-casing one");
    }
    return new ArtefactCard(data);
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
    return Collections.unmodifiableList(buckets);
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

  @SuppressWarnings("unchecked")
  private void readBuckets(Map<String, Object> data) throws IOException {
    for (Object entry : list(data, "buckets")) {
      if (!(entry instanceof Map)) {
        throw new IOException("io.json: a bucket is no object; export the artefact again");
      }
      Map<String, Object> bucket = (Map<String, Object>) entry;
      String signature = bucket.get("signature") == null ? null : text(bucket, "signature");
      buckets.add(new Bucket((int) number(bucket, "seq_len"), signature));
    }
  }

  private static Object field(Map<String, Object> data, String name, Class<?> type) throws IOException {
    Object value = data.get(name);
    if (!type.isInstance(value)) {
      throw new IOException("io.json: field " + name + " is missing or of another type; export the artefact again");
    }
    return value;
  }

  private static String text(Map<String, Object> data, String name) throws IOException {
    return (String) field(data, name, String.class);
  }

  private static double number(Map<String, Object> data, String name) throws IOException {
    return (Double) field(data, name, Double.class);
  }

  static List<?> list(Map<String, Object> data, String name) throws IOException {
    return (List<?>) field(data, name, List.class);
  }

  @SuppressWarnings("unchecked")
  private static Map<String, Object> object(Map<String, Object> data, String name) throws IOException {
    return (Map<String, Object>) field(data, name, Map.class);
  }
}
