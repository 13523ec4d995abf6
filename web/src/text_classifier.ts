/** Classes of a text, or of a pair of texts: one of them, several at once, or a value. */

import type { Activation, Card } from "./card.js";
import { ArtefactModel, wrongTask, type Opened } from "./model.js";
import { OUTPUT } from "./network.js";
import { checkTexts } from "./texts.js";

export interface Score {
  label: string;
  score: number;
}

export class TextClassifier extends ArtefactModel {
  constructor(opened: Opened) {
    super(opened);
    if (!TextClassifier.reads(this.card)) throw wrongTask(this.card, "text-classification");
  }

  static reads(card: Card): boolean {
    return card.task === "text-classification";
  }

  /** Scores of the labels, the highest first, for each text, or pair of texts where the card says two. */
  async classify(texts: readonly (string | readonly [string, string])[]): Promise<Score[][]> {
    return (await this.scores(texts)).map((row) =>
      row
        .map((score, i) => ({ label: this.card.labels[i] as string, score }))
        .sort((one, other) => other.score - one.score),
    );
  }

  /** Probabilities that sum to 1 (softmax), one for each label (sigmoid), or values (identity), in the labels' order. */
  async scores(texts: readonly (string | readonly [string, string])[]): Promise<number[][]> {
    return (await this.logits(texts)).map((row) => activated(row, this.card.activation));
  }

  async logits(texts: readonly (string | readonly [string, string])[]): Promise<Float32Array[]> {
    checkTexts(texts, this.card.texts as 1 | 2);
    return this.runRows(this.encode(texts), OUTPUT.logits);
  }
}

function activated(logits: ArrayLike<number>, activation: Activation): number[] {
  const row = Array.from(logits);
  if (activation === "identity") return row;
  // The smaller exponent is taken, so that no power overflows.
  const sigmoid = (x: number) => (x >= 0 ? 1 / (1 + Math.exp(-x)) : Math.exp(x) / (1 + Math.exp(x)));
  if (activation === "sigmoid") return row.map((one) => Math.fround(sigmoid(one)));
  const highest = Math.max(...row);
  const exponents = row.map((one) => Math.exp(one - highest));
  const sum = exponents.reduce((total, one) => total + one, 0);
  return exponents.map((one) => Math.fround(one / sum));
}
