/** Texts and pairs of texts as token ids, by Tokenizers.js; the same ids as Python's. */

import { Tokenizer } from "@huggingface/tokenizers";
import { normalize, words } from "./bert_normalizer.js";
import { TOKENIZER_FILE, VOCABULARY_FILE, type Card } from "./card.js";
import { decodeText, Fields, parseJson, type Json } from "./checked.js";
import { ArtefactError, firstLine } from "./errors.js";
import { readSpelling, type SpellingCorrector } from "./spelling.js";
import { TemplateIds, type Encoded } from "./template.js";
import { readAsOne } from "./texts.js";
import { checkTokenizerFile, entriesOf, templateOf } from "./tokenizer_file.js";

/** Characters of a WordPiece's text that are read at first for each token that has room. */
const CHARACTERS = 16;
/** A BERT's WordPiece begins a new word at each of these, whatever stands before. */
const BORDER = /[ \t\n\r\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\u4e00-\u9fff!?.,;]/g;

export class PairTokenizer {
  /** @param corrector by which texts are corrected first; null reads them as they are */
  constructor(
    private readonly library: Tokenizer,
    private readonly single: TemplateIds,
    private readonly pair: TemplateIds | null,
    readonly padId: number,
    readonly corrector: SpellingCorrector | null,
    private readonly sortTexts: boolean,
    /** May a text be cut before a border, as a WordPiece's may? */
    private readonly cuts: boolean,
  ) {}

  /** The tokenizer of an artefact, which must be what its card says. */
  static read(card: Card, files: ReadonlyMap<string, Uint8Array>, folder: string): PairTokenizer {
    const said = card.tokenizer;
    const where = `${folder}/${TOKENIZER_FILE}`;
    const data = parseJson(decodeText(files.get(TOKENIZER_FILE) as Uint8Array, where), where, "tokenizer");
    const file = new Fields(data, where);
    const corrector = said.spelling ? readSpelling(files, folder) : null;
    checkTokenizerFile(file, said);
    const entries = entriesOf(file);
    const wordpiece = said.kind === "wordpiece";
    if (wordpiece) checkVocabulary(entries, decodeText(files.get(VOCABULARY_FILE) as Uint8Array, folder), where);
    const single = TemplateIds.of(said.single, (name) => entries.get(name));
    const pair = said.pair && TemplateIds.of(said.pair, (name) => entries.get(name));
    if (!single?.equals(templateOf(file, false)) || (said.pair && !pair?.equals(templateOf(file, true)))) {
      throw file.fault("its template is not that of io.json");
    }
    if (![...entries.values()].includes(said.padId)) throw file.fault(`has no token ${said.padId}, which pads its texts`);
    const library = openLibrary(file, wordpiece, said.lowercase);
    if (wordpiece) useTable(library, said.lowercase as boolean);
    return new PairTokenizer(library, single, pair, said.padId, corrector, said.sortTexts, wordpiece);
  }

  /** The same tokenizer with another correction of texts, or none. */
  withCorrector(corrector: SpellingCorrector | null): PairTokenizer {
    return new PairTokenizer(this.library, this.single, this.pair, this.padId, corrector, this.sortTexts, this.cuts);
  }

  /** Token ids and types of each pair or single text, at most `most` tokens, unpadded. */
  encode(texts: readonly (readonly string[])[], most: number): Encoded[] {
    return texts.map((given) => {
      const [a = "", b] = this.corrected(given);
      if (b === undefined) return this.single.fill(this.tokens(a, most).slice(0, most - this.single.size));
      const pair = this.pair as TemplateIds;
      let tokens = [this.tokens(a, most), this.tokens(b, most)] as const;
      if (this.sortTexts) {
        // Two that differ only beyond `most` are one and the same.
        const [one, other] = [tokens[0].slice(0, most), tokens[1].slice(0, most)];
        tokens = comesBefore(other, one) ? [other, one] : [one, other];
      }
      const [keptA, keptB] = this.kept(a, b, tokens[0].length, tokens[1].length, most - pair.size);
      return pair.fill(tokens[0].slice(0, keptA), tokens[1].slice(0, keptB));
    });
  }

  /** Are the two texts of a pair different, but the same tokens in what `ids` made of them? */
  confuses(texts: readonly string[], ids: readonly number[], most: number): boolean {
    const pair = this.pair as TemplateIds;
    const [before, between] = pair.specials;
    const count = Math.floor((ids.length - pair.size) / 2);
    const odd = (ids.length - pair.size) % 2;
    if (odd && ids.length < most) return false;
    const first = ids.slice(before, before + count).join();
    // The odd token of two texts that were cut is either's.
    const seconds = [0, odd].map((more) => before + count + more + between).map((start) => ids.slice(start, start + count).join());
    if (first && !seconds.includes(first)) return false;
    const [a = "", b = ""] = this.corrected(texts);
    return a !== b && !(first && readAsOne(a, b));
  }

  private corrected(texts: readonly string[]): readonly string[] {
    if (!this.corrector) return texts;
    const [a = "", b] = texts;
    return b === undefined ? [this.corrector.corrected(a)] : this.corrector.correctedPair(a, b);
  }

  /** All ids of a text, or at least `enough`: no more of it is read than that takes. */
  private tokens(text: string, enough: number): number[] {
    for (let size = CHARACTERS * enough; ; size *= 4) {
      const head = this.cuts ? headOf(text, size) : text;
      const ids = this.library.encode(head, { add_special_tokens: false }).ids;
      if (head.length === text.length || ids.length >= enough) return ids;
    }
  }

  /** How many tokens of each text stay: the longer loses first, then both; an odd one is the longer text's. */
  private kept(a: string, b: string, countA: number, countB: number, room: number): [number, number] {
    if (countA + countB <= room) return [countA, countB];
    const half = Math.floor(room / 2);
    const shorter = Math.min(countA, countB);
    if (shorter <= half) return countA === shorter ? [countA, room - countA] : [room - countB, countB];
    const longer = room % 2 === 1 && (this.sortTexts ? countA > countB : this.count(a) > this.count(b));
    return longer ? [room - half, half] : [half, room - half];
  }

  private count(text: string): number {
    return this.library.encode(text, { add_special_tokens: false }).ids.length;
  }
}

/** Does a row of ids come before another one in a dictionary? */
function comesBefore(row: readonly number[], other: readonly number[]): boolean {
  const at = row.findIndex((id, i) => id !== other[i]);
  if (at < 0) return row.length < other.length;
  return at < other.length && (row[at] as number) < (other[at] as number);
}

/** At least `size` characters of a text, ending where a word does. */
function headOf(text: string, size: number): string {
  if (text.length <= size) return text;
  BORDER.lastIndex = size;
  const found = BORDER.exec(text);
  return found ? text.slice(0, found.index) : text;
}

/** The library's tokenizer, given only what splits texts: the rest was checked, and its own reading is narrower. */
function openLibrary(file: Fields, wordpiece: boolean, lowercase: boolean | null): Tokenizer {
  const model = file.data["model"] as Record<string, Json>;
  const bert = {
    normalizer: { type: "BertNormalizer", clean_text: true, handle_chinese_chars: true, strip_accents: null, lowercase },
    pre_tokenizer: { type: "BertPreTokenizer" },
    model: { ...model, type: "WordPiece" },
  };
  const parts = { added_tokens: [], normalizer: null, pre_tokenizer: null, ...file.data, ...(wordpiece ? bert : {}) };
  try {
    return new Tokenizer({ ...parts, post_processor: null, decoder: null }, {});
  } catch (error) {
    throw file.fault(`damaged (${firstLine(error)})`);
  }
}

/** Gives the library this package's clean-up and splitting of a BERT's text, which it calls by these two members. */
function useTable(library: Tokenizer, lowercase: boolean): void {
  library.normalizer = ((text: string) => normalize(text, lowercase)) as unknown as Tokenizer["normalizer"];
  library.pre_tokenizer = ((text: string) => words(text)) as unknown as Tokenizer["pre_tokenizer"];
}

function checkVocabulary(entries: ReadonlyMap<string, number>, text: string, where: string): void {
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  const listed = new Map(lines.map((token, id) => [token, id]));
  if (listed.size !== entries.size || [...listed].some(([token, id]) => entries.get(token) !== id)) {
    throw new ArtefactError(`${where}: its entries are not those of ${VOCABULARY_FILE}; export the artefact again`);
  }
}
