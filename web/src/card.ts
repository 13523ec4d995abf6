/** The card of an artefact folder (io.json): what the files are, how the network is fed, how its answer is read. */

import { describe, Fields, same, type Json } from "./checked.js";
import { ArtefactError } from "./errors.js";
import { LengthShift } from "./length_shift.js";
import { readTemplate, type Template } from "./template.js";

/** The format of io.json that this package reads. */
export const FORMAT = 1;

export const CARD_FILE = "io.json";
export const TOKENIZER_FILE = "tokenizer.json";
export const VOCABULARY_FILE = "vocab.txt";
export const SPELLING_FILE = "spelling.txt";
export const MODEL_FILES: Record<string, string> = { tflite: "model.tflite", onnx: "model.onnx" };
export const INPUT_NAMES = ["input_ids", "attention_mask", "token_type_ids"] as const;
export const LOGITS = "logits";
export const EMBEDDING = "embedding";
/** Of a .tflite file whose matcher is symmetric: one query with several texts (see packing.ts). */
export const PACKED_SIGNATURE = "packed";

const FLOAT32 = 3.4e38;
const TOKENS = [3, 1 << 16] as const;
const MOST_BUCKETS = 64;
const MOST_LABELS = 1000;
const MOST_ADDED = 100;
const LARGEST_ID = 2 ** 31 - 1;

export type TaskName =
  | "text-matching"
  | "text-classification"
  | "token-classification"
  | "question-answering"
  | "sentence-embedding";
export type Activation = "softmax" | "sigmoid" | "identity" | null;
export type TokenizerKind = "wordpiece" | "byte-level-bpe" | "unigram";

/** What the cards of one task may say. */
const TASKS: Record<TaskName, { texts: number[]; activations: Activation[]; truncation: string }> = {
  "text-matching": { texts: [2], activations: ["softmax", "sigmoid", "identity"], truncation: "longest_first" },
  "text-classification": { texts: [1, 2], activations: ["softmax", "sigmoid", "identity"], truncation: "longest_first" },
  "token-classification": { texts: [1], activations: ["softmax"], truncation: "longest_first" },
  "question-answering": { texts: [2], activations: [null], truncation: "only_second" },
  "sentence-embedding": { texts: [1], activations: [null], truncation: "longest_first" },
};

/** A sequence length that the model file runs at. */
export interface Bucket {
  seqLen: number;
  /** Name of the .tflite signature; null where the file has one only, or takes any length (.onnx). */
  signature: string | null;
}

/** How texts become ids. */
export interface TokenizerCard {
  kind: TokenizerKind;
  /** Of a WordPiece; null for other kinds. */
  lowercase: boolean | null;
  padId: number;
  single: Template;
  pair: Template | null;
  /** Words are corrected by spelling.txt first. */
  spelling: boolean;
  /** That text of a pair is read first whose token ids come first. */
  sortTexts: boolean;
}

const MEMBERS = [
  ...["format", "task", "target", "quant", "model_file", "texts", "seq_len", "buckets", "inputs", "outputs", "labels"],
  ...["activation", "positive", "threshold", "temperature", "length_shift", "embedding", "attention_mask_value"],
  ...["tokenizer", "context", "minimum_runtime"],
];
// Texts lose their last tokens here: truncation_side is not among them.
const TOKENIZER_MEMBERS = ["kind", "file", "vocab", "lowercase", "truncation", "pad_id", "template", "spelling", "sort_texts"];

export class Card {
  constructor(
    readonly task: TaskName,
    readonly target: "tflite" | "onnx",
    readonly quant: string,
    readonly modelFile: string,
    readonly texts: number,
    readonly buckets: readonly Bucket[],
    readonly inputs: readonly string[],
    readonly labels: readonly string[],
    readonly activation: Activation,
    readonly tokenizer: TokenizerCard,
    /** The vector that the network returns: its length, and whether it has length 1. */
    readonly embedding: { size: number; normalized: boolean } | null,
    /** Tokens by which windows of a long context overlap; of question answering. */
    readonly stride: number | null,
    readonly minimumRuntime: Readonly<Record<string, string>>,
    /** Index of the label whose probability a matcher returns; then its threshold and temperature. */
    readonly positive: number,
    readonly threshold: number,
    readonly temperature: number,
    readonly lengthShift: LengthShift | null,
  ) {}

  /** Tokens of the largest bucket; longer inputs are truncated to it. */
  get seqLen(): number {
    return (this.buckets.at(-1) as Bucket).seqLen;
  }

  /** Does the order of a pair's texts make no difference to a matcher's logits? */
  get symmetric(): boolean {
    return this.task === "text-matching" && (this.embedding !== null || this.tokenizer.sortTexts);
  }

  /** Names of the files that the artefact needs beside its checksums. */
  get files(): string[] {
    const { kind, spelling } = this.tokenizer;
    return [
      CARD_FILE,
      this.modelFile,
      TOKENIZER_FILE,
      ...(kind === "wordpiece" ? [VOCABULARY_FILE] : []),
      ...(spelling ? [SPELLING_FILE] : []),
    ];
  }

  /** The smallest bucket that holds so many tokens, the largest where none does. */
  bucket(tokens: number): Bucket {
    return this.buckets.find((one) => one.seqLen >= tokens) ?? (this.buckets.at(-1) as Bucket);
  }

  /** Shape of each float32 output by name, for one input of so many tokens. */
  outputs(tokens: number): Record<string, number[]> {
    const shapes: Record<string, number[]> = {};
    if (this.task === "token-classification") shapes[LOGITS] = [1, tokens, this.labels.length];
    else if (this.task === "question-answering") shapes[LOGITS] = [1, tokens, 2];
    else if (this.task !== "sentence-embedding") shapes[LOGITS] = [1, this.labels.length];
    if (this.embedding) shapes[EMBEDDING] = [1, this.embedding.size];
    return shapes;
  }

  /** Reads the object of io.json; the error names the first field that is wrong. */
  static read(data: Json, where: string): Card {
    const fields = new Fields(data, where);
    const format = fields.integer("format", -Number.MAX_VALUE, Number.MAX_VALUE);
    if (format !== FORMAT) {
      throw fields.fault(`format is ${format}, this version reads format ${FORMAT}`);
    }
    const target = fields.text("target");
    const modelFile = fields.text("model_file");
    if (!Object.hasOwn(MODEL_FILES, target) || MODEL_FILES[target] !== modelFile) {
      throw fields.fault(`target ${describe(target)} with model file ${describe(modelFile)} is not known`);
    }
    const task = fields.text("task") as TaskName;
    if (!Object.hasOwn(TASKS, task)) throw fields.fault(`task ${describe(task)} is none of ${Object.keys(TASKS).join(", ")}`);
    const decides = task === "text-matching";
    const card = new Card(
      task,
      target as "tflite" | "onnx",
      fields.text("quant"),
      modelFile,
      fields.integer("texts", 1, 2),
      readBuckets(fields),
      fields.objects("inputs", INPUT_NAMES.length).map((entry) => entry.text("name")),
      fields.texts("labels", 0, MOST_LABELS),
      fields.take("activation", "string", "null") as Activation,
      readTokenizer(fields, TASKS[task].truncation),
      readEmbedding(fields),
      task === "question-answering" ? fields.object("context").integer("stride", 0, TOKENS[1]) : null,
      readVersions(fields.object("minimum_runtime")),
      decides ? fields.integer("positive", 0, MOST_LABELS) : 0,
      decides ? fields.number("threshold", -FLOAT32, FLOAT32) : 0.5,
      decides ? fields.number("temperature", 1e-3, 1e3) : 1,
      decides ? readShift(fields) : null,
    );
    fields.number("attention_mask_value", -FLOAT32, 0); // told for the record
    check(card, fields);
    const tensor = ([name, shape]: [string, number[]], dtype: string) => ({ name, dtype, shape });
    const inputs = card.inputs.map((name) => tensor([name, [1, card.seqLen]], "int32"));
    const outputs = Object.entries(card.outputs(card.seqLen)).map((one) => tensor(one, "float32"));
    for (const [name, expected] of [["inputs", inputs], ["outputs", outputs]] as const) {
      if (!same(fields.take(name, "array"), expected)) throw fields.fault(`${name} are not ${JSON.stringify(expected)}`);
    }
    fields.only(...MEMBERS);
    return card;
  }
}

function check(card: Card, fields: Fields): void {
  const task = TASKS[card.task];
  const refuse = (bad: boolean, text: string) => {
    if (bad) throw fields.fault(text);
  };
  refuse(!task.texts.includes(card.texts), `texts is ${card.texts}, which ${card.task} does not take`);
  refuse(card.texts === 2 && !card.tokenizer.pair, "template pair is missing, and an input has two texts");
  const known = same(card.inputs, INPUT_NAMES) || same(card.inputs, INPUT_NAMES.slice(0, 2));
  refuse(!known, `inputs are not ${INPUT_NAMES.join(", ")}, the last where the network has types`);
  const spans = card.task === "token-classification" || card.task === "question-answering";
  refuse(card.tokenizer.spelling && spans, `tokenizer spelling does not fit ${card.task}, whose answers are characters`);
  const sorts = card.tokenizer.sortTexts && (card.task !== "text-matching" || card.embedding !== null);
  refuse(sorts, `tokenizer sort_texts does not fit ${card.task}`);
  refuse(card.stride !== null && card.stride >= card.seqLen, `context stride ${card.stride} is not from 0 to ${card.seqLen - 1}`);
  const { activation } = card;
  refuse(!task.activations.includes(activation), `activation ${describe(activation)} does not fit ${card.task}`);
  const least = activation === null ? 0 : activation === "softmax" ? 2 : 1;
  const most = activation === null ? 0 : MOST_LABELS;
  const count = card.labels.length;
  refuse(count < least || count > most, `labels are ${count}, which can't be with activation ${describe(activation)}`);
  const matches = card.task === "text-matching";
  refuse(matches && count > 1 && activation !== "softmax", `activation ${describe(activation)} of a matcher needs one label`);
  refuse(card.task === "sentence-embedding" && !card.embedding, "embedding is missing");
  refuse(!matches && card.task !== "sentence-embedding" && card.embedding !== null, `embedding does not fit ${card.task}`);
  if (!matches) return;
  refuse(card.positive >= count, `positive ${card.positive} is not from 0 to ${count - 1}`);
  const plain = activation === "identity";
  refuse(!plain && !(card.threshold >= 0 && card.threshold <= 1), `threshold ${card.threshold} is not from 0 to 1`);
  refuse(plain && (card.temperature !== 1 || card.lengthShift !== null), "temperature and length_shift do not fit activation identity");
}

function readBuckets(fields: Fields): Bucket[] {
  const longest = fields.integer("seq_len", ...TOKENS);
  const buckets = fields.objects("buckets", MOST_BUCKETS).map((entry) => ({
    seqLen: entry.integer("seq_len", ...TOKENS),
    signature: entry.take("signature", "string", "null") === null ? null : entry.text("signature"),
  }));
  const ascending = buckets.every((one, i) => i === 0 || one.seqLen > (buckets[i - 1] as Bucket).seqLen);
  if (!buckets.length || !ascending || buckets.at(-1)?.seqLen !== longest) {
    throw fields.fault(`buckets of ${buckets.map((one) => one.seqLen).join(", ")} tokens with seq_len ${longest} can't be`);
  }
  return buckets;
}

function readTokenizer(fields: Fields, truncation: string): TokenizerCard {
  const found = fields.object("tokenizer").only(...TOKENIZER_MEMBERS);
  const kind = found.text("kind") as TokenizerKind;
  if (!["wordpiece", "byte-level-bpe", "unigram"].includes(kind)) throw fields.fault(`tokenizer kind ${describe(kind)} is not known`);
  const lowercase = found.take("lowercase", "boolean", "null") as boolean | null;
  if ((lowercase === null) === (kind === "wordpiece")) throw fields.fault(`tokenizer lowercase does not fit kind ${kind}`);
  const templates = found.object("template");
  const spelling = found.has("spelling") && found.take("spelling", "string", "null") !== null;
  const expected: Record<string, Json> = {
    file: TOKENIZER_FILE,
    vocab: kind === "wordpiece" ? VOCABULARY_FILE : null,
    truncation,
    ...(spelling ? { spelling: SPELLING_FILE } : {}),
  };
  for (const [name, value] of Object.entries(expected)) {
    if (found.take(name, "string", "null") !== value) {
      throw fields.fault(`tokenizer ${name} is ${describe(found.data[name])}, not ${describe(value)}`);
    }
  }
  if (spelling && !lowercase) throw fields.fault(`tokenizer spelling does not fit a ${kind} that keeps capitals`);
  return {
    kind,
    lowercase,
    padId: found.integer("pad_id", 0, LARGEST_ID),
    single: readTemplate(templates, "single", ["$A"]),
    pair: templates.take("pair", "array", "null") === null ? null : readTemplate(templates, "pair", ["$A", "$B"]),
    spelling,
    sortTexts: found.has("sort_texts") && found.truth("sort_texts"),
  };
}

function readEmbedding(fields: Fields): Card["embedding"] {
  if (fields.take("embedding", "object", "null") === null) return null;
  // Prompts, and other similarities than the cosine, are not known here.
  const found = fields.object("embedding").only("size", "normalized");
  return { size: found.integer("size", 1, 1 << 16), normalized: found.truth("normalized") };
}

function readVersions(fields: Fields): Record<string, string> {
  return Object.fromEntries(
    Object.keys(fields.data).map((name) => {
      const version = fields.text(name);
      if (!/^[0-9]{1,6}(\.[0-9]{1,6}){0,3}$/.test(version)) {
        throw fields.fault(`minimum_runtime of ${describe(name)} is ${describe(version)}, not a version such as 2.14`);
      }
      return [name, version];
    }),
  );
}

function readShift(fields: Fields): LengthShift | null {
  if (fields.take("length_shift", "object", "null") === null) return null;
  const shift = fields.object("length_shift");
  const quartiles = shift.numbers("quartiles", 0, FLOAT32);
  const added = shift.numbers("added", -MOST_ADDED, MOST_ADDED);
  try {
    return new LengthShift(quartiles, added);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new ArtefactError(`${fields.where}: length_shift: ${error.message}; export the artefact again`);
  }
}
