package mobilebert.runtime;

import androidx.annotation.NonNull;
import androidx.annotation.Nullable;
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
 * io.json of an artefact folder: what the network reads, and how its answer is read.
 *
 * <p>What mobilebert_runtime/card.py refuses is refused here. Immutable: threads may share one.
 */
public final class ArtefactCard {
  /** A reader of another format would give other scores, so a card of another format is refused. */
  static final int FORMAT = 1;

  private static final int LEAST_TOKENS = 3;
  private static final int MOST_TOKENS = 1 << 16;
  private static final int MOST_BUCKETS = 64;
  private static final int MOST_LABELS = 1000;
  private static final int LARGEST_EMBEDDING = 1 << 16;
  private static final String[] MEMBERS = {
    "format", "task", "target", "quant", "model_file", "texts", "seq_len", "buckets", "inputs", "outputs", "labels",
    "activation", "positive", "threshold", "temperature", "length_shift", "embedding", "attention_mask_value",
    "tokenizer", "context", "minimum_runtime"
  };
  private static final Pattern VERSION = Pattern.compile("[0-9]{1,6}(\\.[0-9]{1,6}){0,3}");

  @NonNull public final Task task;

  /** How many texts one input has. */
  public final int texts;

  @NonNull public final String target;
  @NonNull public final String quant;
  @NonNull public final String modelFile;

  /** Tokens of the longest bucket; longer inputs are cut to it. */
  public final int seqLen;

  /** In the order of the logits; none for question answering and sentence embedding. */
  @NonNull public final List<String> labels;

  /** How logits become scores; null for question answering and sentence embedding. */
  @Nullable public final Activation activation;

  /** How a matcher's logits become a score and a label; null for other tasks. */
  final Decision decision;

  /** Size of a text's vector; 0 where the network has none. */
  public final int embeddingSize;

  /** Have the vectors length 1, so that a dot product is the cosine? */
  public final boolean embeddingNormalized;

  /** What is put before a text whose vector is asked for. */
  final Prompts prompts;

  /** Tokens by which windows of a long context overlap, in question answering. */
  public final int stride;

  final TokenizerCard tokenizer;

  /** Has the network an input of token types? */
  final boolean tokenTypes;

  private final List<Bucket> buckets;

  /** A sequence length the model file can be run at. */
  public static final class Bucket {
    public final int seqLen;
    /** Name of the .tflite signature; null where the file has only one, or takes any length (.onnx). */
    @Nullable public final String signature;

    Bucket(int seqLen, String signature) {
      this.seqLen = seqLen;
      this.signature = signature;
    }
  }

  private ArtefactCard(Fields fields) throws IOException {
    if (fields.whole("format", 0, Integer.MAX_VALUE) != FORMAT) {
      throw fields.fault("format is not " + FORMAT + ", which this version reads");
    }
    target = fields.text("target");
    modelFile = fields.text("model_file");
    if (!(target.equals("tflite") || target.equals("onnx")) || !modelFile.equals("model." + target)) {
      throw fields.fault("target and model_file are neither tflite and model.tflite nor onnx and model.onnx");
    }
    quant = fields.text("quant");
    seqLen = fields.whole("seq_len", LEAST_TOKENS, MOST_TOKENS);
    buckets = readBuckets(fields, seqLen);
    task = readTask(fields);
    texts = fields.whole("texts", task.leastTexts, task.mostTexts);
    labels = Collections.unmodifiableList(readLabels(fields));
    activation = readActivation(fields);
    decision = task == Task.TEXT_MATCHING ? new Decision(fields, labels, activation) : null;
    fields.number("attention_mask_value", -LengthShift.FLOAT32, 0);
    Fields embedding = fields.isNull("embedding") ? null : fields.object("embedding");
    embeddingSize = embedding == null ? 0 : embedding.whole("size", 1, LARGEST_EMBEDDING);
    embeddingNormalized = embedding != null && embedding.truth("normalized");
    prompts = embedding == null ? Prompts.NONE : Prompts.read(embedding);
    checkVectors(embedding);
    if (embedding == null ? task == Task.SENTENCE_EMBEDDING : task != Task.SENTENCE_EMBEDDING && decision == null) {
      throw fields.fault("embedding does not fit the task");
    }
    boolean answers = task == Task.QUESTION_ANSWERING;
    stride = answers ? fields.object("context").whole("stride", 0, seqLen - 1) : 0;
    String truncation = answers ? "only_second" : "longest_first";
    tokenizer = TokenizerCard.read(fields, truncation);
    if (tokenizer.spelling && (answers || task == Task.TOKEN_CLASSIFICATION)) {
      throw fields.fault("tokenizer spelling does not fit " + task.id + ", whose answers are characters");
    }
    if (tokenizer.sortTexts && (task != Task.TEXT_MATCHING || embeddingSize > 0)) {
      throw fields.fault("tokenizer sort_texts does not fit " + task.id + (decision == null ? "" : " by vectors"));
    }
    if (tokenizer.cutsLeft && (answers || task == Task.TOKEN_CLASSIFICATION || decision != null && embeddingSize > 0)) {
      throw fields.fault("tokenizer truncation_side left does not fit " + task.id);
    }
    if (texts == 2 && tokenizer.pair == null) {
      throw fields.fault("template pair is null, and an input has 2 texts");
    }
    checkVersions(fields.object("minimum_runtime"));
    tokenTypes = fields.list("inputs").size() == 3;
    List<Object> inputs = new ArrayList<Object>();
    for (String name : inputNames()) {
      inputs.add(tensor(name, "int32", 1, seqLen));
    }
    fields.expect("inputs", inputs);
    fields.expect("outputs", outputs());
    fields.only(MEMBERS);
  }

  /** Reads io.json of a folder; throws an {@link IOException} that names the first field that is wrong. */
  @NonNull
  public static ArtefactCard read(File folder) throws IOException {
    return new ArtefactCard(Fields.read(new File(folder, "io.json")));
  }

  /**
   * Does the order of a pair's texts make no difference to a matcher's logits? One that returns the vector of its
   * first text reads each text by itself, and its head is symmetric; all others are cross-encoders, which read both
   * texts in the given order unless their tokenizer sorts them.
   */
  boolean symmetric() {
    return task == Task.TEXT_MATCHING && (embeddingSize > 0 || tokenizer.sortTexts);
  }

  /** Sequence lengths of the buckets, ascending: what {@link TextEncoder#encode} chooses from. */
  @NonNull
  public int[] lengths() {
    int[] lengths = new int[buckets.size()];
    for (int i = 0; i < lengths.length; i++) {
      lengths[i] = buckets.get(i).seqLen;
    }
    return lengths;
  }

  /** All buckets, ascending. */
  @NonNull
  public List<Bucket> buckets() {
    return buckets;
  }

  /** The files that SHA256SUMS must list. */
  List<String> files() {
    List<String> files = new ArrayList<String>(Arrays.asList("io.json", modelFile, "tokenizer.json"));
    if (tokenizer.kind.equals(TokenizerCard.WORDPIECE)) {
      files.add("vocab.txt");
    }
    if (tokenizer.spelling) {
      files.add("spelling.txt");
    }
    return files;
  }

  /** Names of the network's inputs, in their order. */
  List<String> inputNames() {
    List<String> names = new ArrayList<String>(Arrays.asList("input_ids", "attention_mask"));
    if (tokenTypes) {
      names.add("token_type_ids");
    }
    return names;
  }

  /** Names of the network's outputs, in their order. */
  List<String> outputNames() {
    List<String> names = new ArrayList<String>();
    if (task != Task.SENTENCE_EMBEDDING) {
      names.add("logits");
    }
    if (embeddingSize > 0) {
      names.add("embedding");
    }
    return names;
  }

  /** Shape of an output for inputs of so many tokens; the first axis is 1. */
  int[] outputShape(String name, int tokens) {
    if (name.equals("embedding")) {
      return new int[] {1, embeddingSize};
    }
    switch (task) {
      case TOKEN_CLASSIFICATION:
        return new int[] {1, tokens, labels.size()};
      case QUESTION_ANSWERING:
        return new int[] {1, tokens, 2};
      default:
        return new int[] {1, labels.size()};
    }
  }

  /** How many values an output has for inputs of so many tokens. */
  int outputSize(String name, int tokens) {
    int size = 1;
    for (int axis : outputShape(name, tokens)) {
      size *= axis;
    }
    return size;
  }

  private List<Object> outputs() {
    List<Object> outputs = new ArrayList<Object>();
    for (String name : outputNames()) {
      int[] shape = outputShape(name, seqLen);
      outputs.add(
          shape.length == 2 ? tensor(name, "float32", 1, shape[1]) : tensor(name, "float32", 1, shape[1], shape[2]));
    }
    return outputs;
  }

  /** Vectors are compared by their cosine. */
  private static void checkVectors(Fields embedding) throws IOException {
    if (embedding == null) {
      return;
    }
    if (embedding.has("prompts")) {
      embedding.only("size", "normalized", "similarity", "prompts", "default_prompt");
    } else {
      embedding.only("size", "normalized", "similarity");
    }
    if (embedding.has("similarity") && !embedding.text("similarity").equals("cosine")) {
      throw embedding.fault("similarity " + embedding.text("similarity") + ", which this library does not have");
    }
  }

  private static Task readTask(Fields fields) throws IOException {
    String name = fields.text("task");
    for (Task task : Task.values()) {
      if (task.id.equals(name)) {
        return task;
      }
    }
    throw fields.fault("task " + name + " is not one that this version knows");
  }

  private List<String> readLabels(Fields fields) throws IOException {
    return task.hasLabels() ? fields.texts("labels", 1, MOST_LABELS) : fields.texts("labels", 0, 0);
  }

  private Activation readActivation(Fields fields) throws IOException {
    if (!task.hasLabels()) {
      fields.expect("activation", null);
      return null;
    }
    String name = fields.text("activation");
    for (Activation one : Activation.values()) {
      if (one.id.equals(name)) {
        checkActivation(fields, one);
        return one;
      }
    }
    throw fields.fault("activation " + name + " is none of softmax, sigmoid, identity");
  }

  /** A softmax of one column is always 1; a matcher's several labels and a token's are one distribution. */
  private void checkActivation(Fields fields, Activation found) throws IOException {
    boolean softmax = found == Activation.SOFTMAX;
    boolean must = task == Task.TOKEN_CLASSIFICATION || task == Task.TEXT_MATCHING && labels.size() > 1;
    if (softmax ? labels.size() < 2 : must) {
      throw fields.fault("activation " + found.id + " does not fit " + task.id + " with " + labels.size() + " labels");
    }
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

  private static void checkVersions(Fields versions) throws IOException {
    for (Object name : versions.data.keySet()) {
      if (!VERSION.matcher(versions.text((String) name)).matches()) {
        throw versions.fault("it has an entry that is not a version such as 2.14");
      }
    }
  }

  private static Map<String, Object> tensor(String name, String type, Integer... shape) {
    Map<String, Object> tensor = new LinkedHashMap<String, Object>();
    tensor.put("name", name);
    tensor.put("dtype", type);
    tensor.put("shape", Arrays.asList(shape));
    return tensor;
  }
}
