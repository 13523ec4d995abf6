/**
 * Is a tokenizer.json one that the Python side reads, and does it say what the card says?
 *
 * Tokenizers.js takes a file's members as they come. Python's `tokenizers` refuses a damaged member, and so does this.
 */

import type { TokenizerCard } from "./card.js";
import { describe, Fields, type Json } from "./checked.js";
import { TemplateIds } from "./template.js";

const LONGEST_WORD = 100;
const LARGEST = 2 ** 32 - 1;
type Parts = { id: number | "A" | "B"; type: number }[];

/** Throws an `ArtefactError` that names the first member that is wrong. */
export function checkTokenizerFile(file: Fields, card: TokenizerCard): void {
  if (!isFinite_(file.data)) throw file.fault("a number is out of range");
  if (file.has("version") && file.data["version"] !== "1.0") throw file.fault("version is not 1.0");
  checkTruncation(file);
  checkPadding(file);
  checkDecoder(file);
  for (const token of file.has("added_tokens") ? file.objects("added_tokens", Number.MAX_SAFE_INTEGER) : []) {
    token.anyText("content");
    token.integer("id", 0, LARGEST);
    const flags = ["special", "single_word", "lstrip", "rstrip", "normalized"].map((name) => token.truth(name));
    if (flags[1]) throw token.fault("is a whole word only (single_word), which this package does not know");
  }
  const found = kindOf(file);
  if (found !== card.kind) throw file.fault(`is no ${card.kind}, as io.json says`);
  if (found === "wordpiece") checkBert(file, card.lowercase as boolean);
}

/** Every entry of the vocabulary and its id, added tokens included. */
export function entriesOf(file: Fields): Map<string, number> {
  const model = file.object("model");
  const entries = new Map<string, number>();
  if (Array.isArray(model.data["vocab"])) {
    for (const [id, row] of model.array("vocab", Number.MAX_SAFE_INTEGER).entries()) {
      if (!Array.isArray(row) || row.length !== 2 || typeof row[0] !== "string" || typeof row[1] !== "number") {
        throw model.fault("vocab holds what is no token with a score");
      }
      entries.set(row[0], id);
    }
  } else {
    const listed = model.object("vocab");
    for (const token of Object.keys(listed.data)) entries.set(token, listed.integer(token, 0, LARGEST));
  }
  let next = entries.size;
  for (const token of file.has("added_tokens") ? file.objects("added_tokens", Number.MAX_SAFE_INTEGER) : []) {
    const content = token.anyText("content");
    if (!content) continue;
    // A token that the vocabulary has keeps its id, any other takes the next free one, whatever the file says.
    if (!entries.has(content)) entries.set(content, next);
    next = Math.max(next, (entries.get(content) as number) + 1);
  }
  return entries;
}

/** What the member post_processor puts around one text or two. */
export function templateOf(file: Fields, pair: boolean): TemplateIds {
  return new TemplateIds(file.lacks("post_processor") ? plain(pair) : read(file.object("post_processor"), pair));
}

function read(post: Fields, pair: boolean): Parts {
  const trims = isTruth(post, "trim_offsets") && isTruth(post, "add_prefix_space");
  const sep = specialOf(post, "sep");
  const cls = specialOf(post, "cls");
  if (sep !== null && cls !== null) return fixed(cls, sep, trims, pair);
  if (trims && post.data["type"] === "ByteLevel") return plain(pair);
  if (post.has("single") && post.has("pair") && post.has("special_tokens")) return items(post, pair);
  if (post.data["type"] === "Sequence") {
    const parts = post.objects("processors", 8).map((one) => ({ one, found: read(one, pair) }));
    return parts.find(({ one }) => one.data["type"] !== "ByteLevel")?.found ?? plain(pair);
  }
  throw post.fault("post_processor is not one that this package knows");
}

function plain(pair: boolean): Parts {
  return pair ? [{ id: "A", type: 0 }, { id: "B", type: 1 }] : [{ id: "A", type: 0 }];
}

/** BERT: [CLS] a [SEP] b [SEP], the second text of type 1; RoBERTa: one more separator between, all of type 0. */
function fixed(cls: number, sep: number, roberta: boolean, pair: boolean): Parts {
  const type = roberta ? 0 : 1;
  const end = { id: sep, type: 0 };
  const first: Parts = [{ id: cls, type: 0 }, { id: "A", type: 0 }, end];
  if (!pair) return first;
  return [...first, ...(roberta ? [end] : []), { id: "B", type }, { id: sep, type }];
}

function items(post: Fields, pair: boolean): Parts {
  const special = post.object("special_tokens");
  const ids = new Map<string, number[]>();
  for (const name of Object.keys(special.data)) {
    const token = special.object(name);
    token.anyText("id");
    const numbers = token.array("ids", 64).map((id) => new Fields({ id }, token.where).integer("id", 0, LARGEST));
    const names = token.array("tokens", 64);
    if (names.length !== numbers.length || names.some((one) => typeof one !== "string")) {
      throw token.fault("its tokens are not a name for each id");
    }
    ids.set(name, numbers);
  }
  const read = (member: string): Parts =>
    post.objects(member, 64).flatMap((item): Parts => {
      const text = item.has("Sequence");
      const one = item.object(text ? "Sequence" : "SpecialToken");
      const type = one.integer("type_id", 0, LARGEST);
      const id = one.anyText("id");
      if (text) {
        if (id !== "A" && id !== "B") throw one.fault("id is neither A nor B");
        return [{ id, type }];
      }
      const known = ids.get(id);
      if (!known) throw one.fault(`has no special token ${describe(id)}`);
      return known.map((number) => ({ id: number, type }));
    });
  const found = { single: read("single"), pair: read("pair") };
  return pair ? found.pair : found.single;
}

function isTruth(fields: Fields, name: string): boolean {
  return typeof fields.data[name] === "boolean";
}

function specialOf(post: Fields, name: string): number | null {
  const value = post.data[name];
  const known = Array.isArray(value) && value.length === 2 && typeof value[0] === "string" && Number.isInteger(value[1]);
  return known && (value[1] as number) >= 0 && (value[1] as number) <= LARGEST ? (value[1] as number) : null;
}

function kindOf(file: Fields): string | null {
  const model = file.object("model");
  const type = model.lacks("type") ? (model.has("merges") ? "BPE" : "WordPiece") : model.anyText("type");
  if (type === "WordPiece") return "wordpiece";
  if (type === "Unigram") return "unigram";
  if (type !== "BPE") return null;
  const drops = !model.lacks("dropout") && model.number("dropout", 0, 1) > 0;
  return !drops && steps(file.data["pre_tokenizer"]).includes("ByteLevel") ? "byte-level-bpe" : null;
}

function steps(component: Json | undefined): Json[] {
  if (component === null || typeof component !== "object" || Array.isArray(component)) return [];
  const parts = Array.isArray(component["pretokenizers"]) ? component["pretokenizers"] : [];
  return [component["type"] ?? null, ...parts.flatMap(steps)];
}

const OTHER_NORMALIZERS = [
  "Strip", "StripAccents", "NFC", "NFD", "NFKC", "NFKD", "Sequence", "Lowercase", "Nmt", "Precompiled", "Replace", "Prepend", "ByteLevel",
];

function checkBert(file: Fields, lowercase: boolean): void {
  const rules = file.object("normalizer");
  // `tokenizers` goes by the members where the type is missing or unknown.
  if (OTHER_NORMALIZERS.includes(rules.data["type"] as string)) throw rules.fault("normalizer is not BertNormalizer");
  const clean = rules.truth("clean_text") && rules.truth("handle_chinese_chars");
  const accents = rules.lacks("strip_accents") || rules.truth("strip_accents") === lowercase;
  const says = rules.truth("lowercase") === lowercase;
  const splits = file.object("pre_tokenizer");
  if (splits.data["type"] !== "BertPreTokenizer") throw splits.fault("pre_tokenizer is not BertPreTokenizer");
  const model = file.object("model");
  const unknown = model.anyText("unk_token") === "[UNK]" && model.object("vocab").has("[UNK]");
  const prefix = model.anyText("continuing_subword_prefix") === "##";
  const longest = model.integer("max_input_chars_per_word", 0, Number.MAX_SAFE_INTEGER) === LONGEST_WORD;
  const odd = file.has("added_tokens") && file.objects("added_tokens", 1 << 20).some((token) => !/^[!-~]*$/.test(token.anyText("content")));
  if (!(clean && accents && says && unknown && prefix && longest) || odd) {
    throw file.fault(`is not a ${lowercase ? "lowercase" : "cased"} BERT's WordPiece`);
  }
}

function checkTruncation(file: Fields): void {
  if (file.lacks("truncation")) return;
  const truncation = file.object("truncation");
  truncation.integer("max_length", 0, Number.MAX_VALUE);
  truncation.integer("stride", 0, Number.MAX_VALUE);
  oneOf(truncation, "strategy", ["LongestFirst", "OnlyFirst", "OnlySecond"]);
  if (truncation.has("direction")) oneOf(truncation, "direction", ["Left", "Right"]);
}

function checkPadding(file: Fields): void {
  if (file.lacks("padding")) return;
  const padding = file.object("padding");
  oneOf(padding, "direction", ["Left", "Right"]);
  padding.integer("pad_id", 0, LARGEST);
  padding.integer("pad_type_id", 0, LARGEST);
  padding.anyText("pad_token");
  if (!padding.lacks("pad_to_multiple_of")) padding.integer("pad_to_multiple_of", 0, Number.MAX_VALUE);
  if (padding.data["strategy"] === "BatchLongest") return;
  const strategy = padding.object("strategy");
  strategy.integer("Fixed", 0, Number.MAX_VALUE);
  if (Object.keys(strategy.data).length > 1) throw strategy.fault("padding strategy has more than one member");
}

function checkDecoder(holder: Fields): void {
  if (holder.lacks("decoder")) return;
  const check = (one: Fields): void => {
    const { data } = one;
    const holds = (type: string, ...names: string[]) => names.every((name) => typeof data[name] === type && data[name] !== null);
    if (data["type"] === "Sequence") return one.objects("decoders", 1 << 10).forEach(check);
    const typed =
      data["type"] === "Fuse" ||
      data["type"] === "ByteFallback" ||
      (data["type"] === "ByteLevel" && holds("boolean", "add_prefix_space", "trim_offsets")) ||
      (data["type"] === "Metaspace" && holds("string", "replacement"));
    const words = holds("string", "suffix") || (holds("string", "prefix") && holds("boolean", "cleanup"));
    const ctc = holds("string", "pad_token", "word_delimiter_token") && holds("boolean", "cleanup");
    const replaces = holds("object", "pattern") && holds("string", "content");
    const strips = holds("string", "content") && holds("number", "start", "stop");
    if (!(typed || words || ctc || replaces || strips)) throw one.fault("decoder is of a type that is not known");
  };
  check(holder.object("decoder"));
}

function oneOf(fields: Fields, name: string, known: string[]): void {
  if (!known.includes(fields.anyText(name))) throw fields.fault(`${name} is none of ${known.join(", ")}`);
}

/** Python's tokenizer reads no file with a number that a double does not hold, wherever it is. */
function isFinite_(value: Json): boolean {
  if (typeof value === "number") return Number.isFinite(value);
  return value === null || typeof value !== "object" || Object.values(value).every(isFinite_);
}
