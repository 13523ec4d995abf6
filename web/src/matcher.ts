/** Pairs of texts and the probability that they match. */

import type { Card } from "./card.js";
import { DataError } from "./errors.js";
import { ArtefactModel, wrongTask, type Opened } from "./model.js";
import { OUTPUT } from "./network.js";
import type { Encoded } from "./template.js";
import { checkTexts, refuseEmpty } from "./texts.js";

export type Pair = readonly [a: string, b: string];

/** One of the texts that were searched or ranked. */
export interface Hit {
  /** Its place among them, from 0. */
  place: number;
  score: number;
  text: string;
}

export class Matcher extends ArtefactModel {
  constructor(opened: Opened) {
    super(opened);
    if (!Matcher.reads(this.card)) throw wrongTask(this.card, "text-matching");
  }

  static reads(card: Card): boolean {
    return card.task === "text-matching";
  }

  /**
   * The probability of the positive label for each pair, or the value of a network for regression.
   *
   * With `symmetric` both orders of a pair have one score: the mean of both, or where the card is symmetric the score of
   * the order in which the texts sort. The score of two different texts that are the same tokens to the network is
   * kept below the threshold, and the console warns of them.
   */
  async score(pairs: readonly Pair[], { symmetric = false } = {}): Promise<number[]> {
    checkTexts(pairs, 2);
    const shift = pairs.map(([a, b]) => this.card.lengthShift?.of(a, b) ?? 0);
    const probability = (logits: Float32Array, place: number) => positiveProbability(logits, this.card, shift[place] ?? 0);
    const read = this.ordered(pairs, symmetric);
    const both = symmetric && !this.card.symmetric;
    const rows = this.rowsOf(both ? read.flatMap(([a, b]) => [[a, b], [b, a]] as Pair[]) : read);
    const logits = await this.logitsOf(rows);
    const step = both ? 2 : 1;
    const scores = read.map((_, place) => {
      const forward = probability(logits[step * place] as Float32Array, place);
      if (!both) return forward;
      return Math.fround(0.5 * Math.fround(forward + probability(logits[2 * place + 1] as Float32Array, place)));
    });
    return this.keptApart(scores, read, rows.filter((_, i) => i % step === 0));
  }

  /** The positive label at and above the threshold; below it the other of two labels, else "not …". */
  label(score: number): string {
    const { labels, positive, threshold } = this.card;
    const name = labels[positive] as string;
    if (score >= threshold) return name;
    return labels.length === 2 ? (labels[1 - positive] as string) : `not ${name}`;
  }

  /** The texts that match the query best, best first; all of them without `topK`. */
  async rank(query: string, texts: readonly string[], topK?: number): Promise<Hit[]> {
    if (topK !== undefined && !(topK >= 1)) throw new DataError(`the ${topK} best texts can't be; give 1 or more`);
    checkTexts([query], 1);
    checkTexts(texts, 1);
    const scores = await this.score(texts.map((text) => [query, text] as const));
    return best(scores, texts, topK);
  }

  /** Raw logits of each pair, in the order of `card.labels`. */
  async logits(pairs: readonly Pair[]): Promise<Float32Array[]> {
    checkTexts(pairs, 2);
    return this.logitsOf(this.rowsOf(this.ordered(pairs)));
  }

  /**
   * The pairs with their texts in alphabetical order, where the network means the same by both orders: its int8 ranges,
   * found at run time, would round the two to other codes. A file with a packed graph has no such ranges, and packs
   * pairs of the same first text.
   */
  private ordered(pairs: readonly Pair[], symmetric = false): readonly Pair[] {
    return this.card.symmetric && (symmetric || !this.network.packed) ? pairs.map(sorted) : pairs;
  }

  private rowsOf(pairs: readonly Pair[]): Encoded[] {
    refuseEmpty(pairs);
    return this.encode(pairs);
  }

  private async logitsOf(rows: readonly Encoded[]): Promise<Float32Array[]> {
    const found = await this.runPacked(rows, OUTPUT.logits);
    const rest = rows.map((_, place) => place).filter((place) => !found.has(place));
    const alone = await this.runRows(rest.map((place) => rows[place] as (typeof rows)[0]), OUTPUT.logits);
    rest.forEach((place, i) => found.set(place, alone[i] as Float32Array));
    return rows.map((_, place) => found.get(place) as Float32Array);
  }

  /** Scores, below the threshold where the network can't tell two texts apart. */
  private keptApart(scores: number[], pairs: readonly Pair[], rows: readonly Encoded[]): number[] {
    const { seqLen, threshold } = this.card;
    const alike = pairs.map((pair, place) => this.tokenizer.confuses(pair, (rows[place] as Encoded).ids, seqLen));
    const first = alike.indexOf(true);
    if (first < 0) return scores;
    console.warn(
      `entry ${first + 1}: ${JSON.stringify(pairs[first]).slice(0, 120)} are the same tokens to the network: the vocabulary ` +
        `lacks what they differ in, or they differ beyond ${seqLen} tokens; its score is kept below the threshold`,
    );
    const most = largestBelow(threshold);
    return scores.map((score, place) => (alike[place] ? Math.min(score, most) : score));
  }
}

/** The highest scores first; of equal ones that which came first. */
export function best(scores: ArrayLike<number>, texts: readonly string[], topK = texts.length): Hit[] {
  const order = texts.map((_, place) => place).sort((one, other) => (scores[other] as number) - (scores[one] as number));
  return order.slice(0, topK).map((place) => ({ place, score: scores[place] as number, text: texts[place] as string }));
}

/** The largest float32 below a number. */
function largestBelow(value: number): number {
  const found = new Float32Array([value]);
  const bits = new Int32Array(found.buffer);
  while ((found[0] as number) >= value) {
    // Neighbours of one sign have neighbouring bits; below 0 is the negative number nearest to it.
    if (found[0] === 0) found[0] = -(2 ** -149);
    else bits[0] = (bits[0] as number) + ((found[0] as number) > 0 ? -1 : 1);
  }
  return found[0] as number;
}

/** A pair in the order in which its texts sort by code points, as Python's do. */
function sorted(pair: Pair): Pair {
  const [a, b] = pair.map((text) => [...text].map((char) => char.codePointAt(0) as number)) as [number[], number[]];
  const at = a.findIndex((code, i) => code !== b[i]);
  const swap = at < 0 ? false : at >= b.length || (a[at] as number) > (b[at] as number);
  return swap ? [pair[1], pair[0]] : pair;
}

/** Score of the positive label: the card's activation of logits / temperature, with the length shift added. */
export function positiveProbability(logits: ArrayLike<number>, card: Card, shift: number): number {
  const scaled = Array.from(logits, (one) => one / card.temperature);
  scaled[card.positive] = (scaled[card.positive] as number) + shift;
  if (card.activation === "identity") return Math.fround(scaled[0] as number);
  if (card.activation === "sigmoid") scaled.push(0); // a softmax with a second logit of 0
  const highest = Math.max(...scaled);
  const exponents = scaled.map((one) => Math.exp(one - highest));
  return Math.fround((exponents[card.positive] as number) / exponents.reduce((sum, one) => sum + one, 0));
}
