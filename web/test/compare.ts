/** This package's answers beside Python's on the same artefact, text by text; runs in Node and in a browser's worker. */

import { Embedder, Matcher, TextClassifier, type ArtefactModel } from "../src/public.js";

/** What `tests/web/golden.py` writes. */
export interface Golden {
  /** Inputs of the task: ids and types as the network reads them, logits, and a score (of a matcher) or null. */
  rows: { texts: string[]; ids: number[]; types: number[]; logits: number[]; score: number | null }[];
  /** Vectors of single texts, where the network returns them. */
  vectors: { text: string; ids: number[]; vector: number[] }[];
}

export interface Compared {
  runtime: string;
  threads: number;
  rows: number;
  vectors: number;
  /** Inputs whose ids or token types differ, the first three as text. */
  otherIds: number;
  examples: string[];
  /** Largest difference of a logit, of a score, of a vector's number; decisions on the other side of the threshold. */
  logit: number;
  score: number;
  vector: number;
  decisions: number;
  seconds: number;
}

const STEP = 50;

export async function compare(model: ArtefactModel, golden: Golden): Promise<Compared> {
  const found: Compared = {
    runtime: model.runtime,
    threads: model.threads,
    rows: golden.rows.length,
    vectors: golden.vectors.length,
    otherIds: 0,
    examples: [],
    logit: 0,
    score: 0,
    vector: 0,
    decisions: 0,
    seconds: 0,
  };
  const start = performance.now();
  for (let at = 0; at < golden.rows.length; at += STEP) await compareRows(model, golden.rows.slice(at, at + STEP), found);
  if (golden.vectors.length) {
    const embedder = Embedder.of(model);
    for (let at = 0; at < golden.vectors.length; at += STEP) {
      const rows = golden.vectors.slice(at, at + STEP);
      compareIds(model, rows.map((row) => [row.text]), rows, found);
      const vectors = await embedder.embed(rows.map((row) => row.text));
      vectors.forEach((vector, i) => (found.vector = Math.max(found.vector, apart(vector, rows[i]!.vector))));
    }
  }
  found.seconds = (performance.now() - start) / 1000;
  return found;
}

async function compareRows(model: ArtefactModel, rows: Golden["rows"], found: Compared): Promise<void> {
  compareIds(model, rows.map((row) => row.texts), rows, found);
  const texts = rows.map((row) => (row.texts.length === 1 ? row.texts[0]! : (row.texts as [string, string])));
  let logits: Float32Array[];
  if (model instanceof Matcher) {
    const pairs = texts as [string, string][];
    logits = await model.logits(pairs);
    (await model.score(pairs)).forEach((score, i) => {
      const expected = rows[i]!.score as number;
      found.score = Math.max(found.score, Math.abs(score - expected));
      found.decisions += Number(score >= model.card.threshold !== expected >= model.card.threshold);
    });
  } else if (model instanceof TextClassifier) {
    logits = await model.logits(texts as string[]);
    logits.forEach((row, i) => (found.decisions += Number(largest(row) !== largest(rows[i]!.logits))));
  } else {
    throw new Error(`no logits to compare for ${model.card.task}`);
  }
  logits.forEach((row, i) => (found.logit = Math.max(found.logit, apart(row, rows[i]!.logits))));
}

function compareIds(model: ArtefactModel, texts: string[][], rows: { ids: number[]; types?: number[] }[], found: Compared): void {
  model.encode(texts).forEach(({ ids, types }, i) => {
    const expected = rows[i]!;
    if (ids.join() === expected.ids.join() && (!expected.types || types.join() === expected.types.join())) return;
    found.otherIds += 1;
    if (found.examples.length < 3) found.examples.push(JSON.stringify({ texts: texts[i], ids, expected: expected.ids }));
  });
}

function apart(one: ArrayLike<number>, other: readonly number[]): number {
  if (one.length !== other.length) return Number.POSITIVE_INFINITY;
  return other.reduce((most, value, i) => Math.max(most, Math.abs(value - one[i]!)), 0);
}

function largest(row: ArrayLike<number>): number {
  return Array.from(row).reduce((best, value, i, all) => (value > all[best]! ? i : best), 0);
}
