/** Pairs of texts and the probability that they match. */

import type { Card } from "./card.js";
import { DataError } from "./errors.js";
import { ArtefactModel, checkTexts, wrongTask, type Opened } from "./model.js";
import { OUTPUT } from "./network.js";

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
   * the order in which the texts sort.
   */
  async score(pairs: readonly Pair[], { symmetric = false } = {}): Promise<number[]> {
    checkTexts(pairs, 2);
    const shift = pairs.map(([a, b]) => this.card.lengthShift?.of(a, b) ?? 0);
    const probability = (logits: Float32Array, place: number) => positiveProbability(logits, this.card, shift[place] ?? 0);
    if (!symmetric || this.card.symmetric) {
      const read = symmetric ? pairs.map(sorted) : pairs;
      return (await this.logits(read)).map(probability);
    }
    const both = await this.logits(pairs.flatMap(([a, b]) => [[a, b], [b, a]] as Pair[]));
    return pairs.map((_, place) => {
      const [forward, backward] = [both[2 * place], both[2 * place + 1]] as [Float32Array, Float32Array];
      return Math.fround(0.5 * Math.fround(probability(forward, place) + probability(backward, place)));
    });
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
    const rows = this.encode(pairs);
    const found = await this.runPacked(rows, OUTPUT.logits);
    const rest = rows.map((_, place) => place).filter((place) => !found.has(place));
    const alone = await this.runRows(rest.map((place) => rows[place] as (typeof rows)[0]), OUTPUT.logits);
    rest.forEach((place, i) => found.set(place, alone[i] as Float32Array));
    return rows.map((_, place) => found.get(place) as Float32Array);
  }
}

/** The highest scores first; of equal ones that which came first. */
export function best(scores: ArrayLike<number>, texts: readonly string[], topK = texts.length): Hit[] {
  const order = texts.map((_, place) => place).sort((one, other) => (scores[other] as number) - (scores[one] as number));
  return order.slice(0, topK).map((place) => ({ place, score: scores[place] as number, text: texts[place] as string }));
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
