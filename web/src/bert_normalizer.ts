/**
 * BERT's text clean-up, by a table of what the Python side's tokenizer does to each code point.
 *
 * Tokenizers.js asks the browser for Unicode's categories, and browsers differ in their version of Unicode; it also
 * lower-cases before it removes accents. With the table, ids are those of Python on any text, in every browser.
 */

import table from "unicode-table";

const DROPPED = 1;
const SPACE = 2;
const IDEOGRAPH = 4;
const PUNCTUATION = 8;
const ACCENT = 16;
const FLAGS: Record<string, number> = { D: DROPPED, S: SPACE, C: IDEOGRAPH, P: PUNCTUATION, A: ACCENT };
const HANGUL = { first: 0xac00, last: 0xd7a3 };

const flags = new Uint8Array(0x110000);
const targets = new Map<number, number[]>();
/** Canonical combining class of the marks that stay. */
const classes = new Map<number, number>();

for (const line of table.split("\n")) {
  const [kind = "#", ...numbers] = line.split(" ");
  if (kind.startsWith("#") || !numbers.length) continue;
  const [first = 0, last = 0, ...rest] = numbers.map((number) =>
    number.startsWith("-") ? -Number.parseInt(number.slice(1), 16) : Number.parseInt(number, 16),
  );
  for (let code = first; code <= last; code++) {
    if (kind in FLAGS) flags[code] = (flags[code] as number) | (FLAGS[kind] as number);
    else if (kind === "M") targets.set(code, rest);
    else if (kind === "L") targets.set(code, [code + (rest[0] as number)]);
    else if (kind === "O") classes.set(code, rest[0] as number);
  }
}

/** The normalised text; spaces are all the white space that is left. */
export function normalize(text: string, lowercase: boolean): string {
  const out: number[] = [];
  for (const char of text) {
    const code = char.codePointAt(0) as number;
    const flag = flags[code] as number;
    if (flag & DROPPED || (lowercase && flag & ACCENT)) continue;
    if (flag & SPACE) out.push(0x20);
    else if (flag & IDEOGRAPH) out.push(0x20, ...(lowercase ? mapped(code) : [code]), 0x20);
    else if (lowercase) out.push(...mapped(code));
    else out.push(code);
  }
  if (lowercase) sortMarks(out);
  let joined = "";
  for (let at = 0; at < out.length; at += 4096) joined += String.fromCodePoint(...out.slice(at, at + 4096));
  return joined;
}

/** Words of a normalised text: they end at spaces, and a punctuation character is a word of its own. */
export function words(text: string): string[] {
  const found: string[] = [];
  let word = "";
  for (const char of text) {
    const punctuation = (flags[char.codePointAt(0) as number] as number) & PUNCTUATION;
    if (char !== " " && !punctuation) {
      word += char;
      continue;
    }
    if (word) found.push(word);
    if (punctuation) found.push(char);
    word = "";
  }
  if (word) found.push(word);
  return found;
}

function mapped(code: number): number[] {
  if (code < HANGUL.first || code > HANGUL.last) return targets.get(code) ?? [code];
  // Unicode 3.12: a syllable is a leading consonant, a vowel and perhaps a trailing consonant.
  const index = code - HANGUL.first;
  const parts = [0x1100 + Math.floor(index / (21 * 28)), 0x1161 + (Math.floor(index / 28) % 21)];
  return index % 28 ? [...parts, 0x11a7 + (index % 28)] : parts;
}

/** Canonical order (Unicode 3.11): neighbours whose classes are above 0 lie by class, equal ones as they came. */
function sortMarks(codes: number[]): void {
  let from = 0;
  for (let to = 0; to <= codes.length; to++) {
    if (to < codes.length && classes.has(codes[to] as number)) continue;
    if (to - from > 1) {
      const run = codes.slice(from, to).sort((one, other) => (classes.get(one) ?? 0) - (classes.get(other) ?? 0));
      codes.splice(from, run.length, ...run);
    }
    from = to + 1;
  }
}
