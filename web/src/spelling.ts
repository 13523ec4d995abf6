/**
 * Misspelt words put right before a text becomes tokens: unknown or rare ones at one edit of a frequent one.
 *
 * The rule of mobilebert_runtime/spelling.py, which says where it comes from and why each number is what it is.
 */

import { SPELLING_FILE } from "./card.js";
import { decodeText, describe } from "./checked.js";
import { ArtefactError } from "./errors.js";

const SHORTEST = 3;
const LONGEST = 24;
const SHORTEST_NAME = 4;
const PROTECTED = 20_000;
const RARER = 50;
const REACH = 1000;
const REACHING = 8;
const BESIDE = 2;
const OTHER = 16;
const FIRST = 2;
const TWO_EDITS = 6;
const MOST_BESIDE = 64;
const MOST_WORDS = 500_000;
const MOST_LOOKED_UP = 4096;
/** Characters of a text that are looked at. */
const READ = 4096;

const WORD = /(?<![^ \t-\r"(\[-])[A-Za-z]{3,24}(?=[ \t-\r,;:!?")\]-]|\.?(?![^])|\.[ \t-\r]|'s)/gu;
const LINE = /^[a-z]{3,24}$/;
const LETTERS = [..."abcdefghijklmnopqrstuvwxyz"];
const ROWS = ["qwertyuiop", "asdfghjkl", "zxcvbnm"];

/** Keys beside each key on a QWERTY keyboard. */
const NEIGHBOURS = new Map<string, string[]>(
  ROWS.flatMap((keys, row) =>
    [...keys].map((key, column): [string, string[]] => [
      key,
      [[0, -1], [0, 1], [-1, 0], [-1, 1], [1, 0], [1, -1]].flatMap(([down = 0, right = 0]) => ROWS[row + down]?.[column + right] ?? []),
    ]),
  ),
);
const OTHERS = new Map([...NEIGHBOURS].map(([key, near]) => [key, LETTERS.filter((one) => !near.includes(one))]));

/** A word of the list: its line times the factor of the edit, its line, the word. */
type Near = readonly [product: number, line: number, word: string];
const NOTHING: ReadonlySet<string> = new Set();

export class SpellingCorrector {
  private readonly lookedUp = new Map<string, readonly Near[]>();

  /**
   * @param lines lower-case words of a to z, each with its line in a list whose most frequent words come first
   * @param own lower-case words that stay
   */
  private constructor(
    private readonly lines: ReadonlyMap<string, number>,
    readonly own: ReadonlySet<string>,
  ) {}

  /** @param words lower-case words of a to z, the most frequent first */
  static of(words: readonly string[]): SpellingCorrector {
    return new SpellingCorrector(new Map(words.map((word, line) => [word, line + 1])), NOTHING);
  }

  /** The same corrector, which leaves the words of some texts as they are, in any case. */
  keeping(texts: readonly string[]): SpellingCorrector {
    return new SpellingCorrector(this.lines, new Set(texts.flatMap((text) => [...wordsOf(text)])));
  }

  /** The text with its misspelt words replaced, in lower case. */
  corrected(text: string): string {
    return this.replaced(text, NOTHING, NOTHING);
  }

  /** Two texts that are compared: each as `corrected`, beside the words of the other. Words that stand in both stay. */
  correctedPair(a: string, b: string): [string, string] {
    const [inA, inB] = [wordsOf(a), wordsOf(b)];
    const besideA = wordsOf(this.replaced(b, NOTHING, inA));
    const besideB = wordsOf(this.replaced(a, NOTHING, inB));
    return [this.replaced(a, besideA, inB), this.replaced(b, besideB, inA)];
  }

  private replaced(text: string, beside: ReadonlySet<string>, kept: ReadonlySet<string>): string {
    const parts: string[] = [];
    let done = 0;
    const letter = text.search(/[A-Za-z]/);
    for (const { word, start } of matches(text)) {
      const lower = word.toLowerCase();
      const found = kept.has(lower) || this.own.has(lower) ? undefined : this.correction(word, beside, start === letter);
      if (found === undefined) continue;
      parts.push(text.slice(done, start), found);
      done = start + word.length;
    }
    return parts.join("") + text.slice(done);
  }

  private correction(word: string, beside: ReadonlySet<string>, first: boolean): string | undefined {
    const lower = word.toLowerCase();
    const line = this.lines.get(lower);
    const slipped = word[1] !== lower[1]; // the shift key, held too long or pressed too late
    if (word.slice(2) !== lower.slice(2) || (slipped && word.length < SHORTEST_NAME)) return undefined;
    const name = slipped || (word[0] !== lower[0] && !first);
    if (name && (line !== undefined || word.length < SHORTEST_NAME)) return undefined;
    if (line !== undefined && line <= PROTECTED) return undefined;
    let most = REACH * 2 ** Math.min(word.length - Number(name), REACHING);
    if (line !== undefined) most = Math.min(most, Math.floor(line / RARER));
    const known = line !== undefined ? NOTHING : beside;
    const near = this.near(lower);
    const best = near.find((one) => known.has(one[2])) ?? near[0];
    if (best && (known.has(best[2]) || best[0] <= most)) return best[2];
    return lower.length >= TWO_EDITS ? this.twoEditsOff(lower, known) : undefined;
  }

  /** Words of the list at one edit, by their product. */
  private near(word: string): readonly Near[] {
    let found = this.lookedUp.get(word);
    if (!found) {
      const all: Near[] = [];
      for (const [factor, edit] of edits(word)) {
        const line = this.lines.get(edit);
        if (line !== undefined) all.push([line * factor, line, edit]);
      }
      found = all.sort((one, other) => one[0] - other[0] || one[1] - other[1]);
      if (this.lookedUp.size >= MOST_LOOKED_UP) this.lookedUp.clear();
      this.lookedUp.set(word, found);
    }
    return found;
  }

  private twoEditsOff(word: string, beside: ReadonlySet<string>): string | undefined {
    const line = (one: string) => this.lines.get(one) as number;
    const known = [...beside].filter((one) => one[0] === word[0] && this.lines.has(one)).sort((one, other) => line(one) - line(other));
    return known.slice(0, MOST_BESIDE).find((one) => within(one, word, 2));
  }
}

/** Reads spelling.txt: a word a line, the most frequent first. */
export function readSpelling(files: ReadonlyMap<string, Uint8Array>, folder: string): SpellingCorrector {
  const where = `${folder}/${SPELLING_FILE}`;
  const lines = decodeText(files.get(SPELLING_FILE) as Uint8Array, where).split("\n");
  if (lines.pop() !== "" || lines.length < 1 || lines.length > MOST_WORDS) {
    throw new ArtefactError(`${where}: expected 1 to ${MOST_WORDS} lines, each with an end`);
  }
  const wrong = lines.findIndex((word) => !LINE.test(word));
  if (wrong >= 0 || new Set(lines).size < lines.length) {
    const which = wrong >= 0 ? `line ${wrong + 1} is ${describe(lines[wrong])}` : "a word is there twice";
    throw new ArtefactError(`${where}: ${which}; expected other words of ${SHORTEST} to ${LONGEST} letters a to z`);
  }
  return SpellingCorrector.of(lines);
}

/** The words of a text that are looked at, each with its place in UTF-16 units. */
function* matches(text: string): Generator<{ word: string; start: number }> {
  const end = placeOf(text, READ);
  for (const found of text.matchAll(WORD)) {
    if (found.index >= end) return;
    yield { word: found[0], start: found.index };
  }
}

/** Where the so-manieth code point begins. */
function placeOf(text: string, codePoints: number): number {
  if (text.length <= codePoints) return text.length;
  let at = 0;
  for (let count = 0; count < codePoints && at < text.length; count++) at += (text.codePointAt(at) as number) > 0xffff ? 2 : 1;
  return at;
}

function wordsOf(text: string): ReadonlySet<string> {
  return new Set([...matches(text)].map(({ word }) => word.toLowerCase()));
}

/** Are two words at most so many edits apart, no letter edited twice (optimal string alignment)? */
function within(one: string, other: string, edits: number): boolean {
  let same = 0;
  while (same < Math.min(one.length, other.length) && one[same] === other[same]) same++;
  const [a, b] = [one.slice(same), other.slice(same)];
  if (!a || !b || edits === 0) return a.length + b.length <= edits;
  return (
    within(a.slice(1), b.slice(1), edits - 1) ||
    within(a.slice(1), b, edits - 1) ||
    within(a, b.slice(1), edits - 1) ||
    (a.length > 1 && a[1] === b[0] && a[0] === b[1] && within(a.slice(2), b.slice(2), edits - 1))
  );
}

/** All strings at one insertion, deletion, replacement or swap of neighbours, each with its edit's factor. */
function* edits(word: string): Generator<[factor: number, edit: string]> {
  for (let at = 0; at <= word.length; at++) {
    const [head, tail] = [word.slice(0, at), word.slice(at)];
    const first = at === 0 ? FIRST : 1;
    for (const letter of LETTERS) yield [first, head + letter + tail];
    if (!tail) continue;
    const [key, after] = [tail[0] as string, tail.slice(1)];
    const doubled = key === head.at(-1) || key === tail[1];
    yield [first * (doubled ? 1 : OTHER), head + after];
    for (const letter of NEIGHBOURS.get(key) ?? []) yield [first * BESIDE, head + letter + after];
    for (const letter of OTHERS.get(key) ?? []) yield [first * OTHER, head + letter + after];
    if (tail.length > 1) yield [1, head + (tail[1] as string) + key + tail.slice(2)];
  }
}
