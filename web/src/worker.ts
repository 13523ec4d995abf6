/** The other side of client.ts: one artefact in a worker, and an index of texts that is searched while it is made. */

import { Embedder } from "./embedder.js";
import { DataError, toMessage } from "./errors.js";
import { load, Matcher, TextClassifier, type LoadOptions } from "./index.js";
import type { Hit, Pair } from "./matcher.js";
import type { ArtefactModel } from "./model.js";
import { Index } from "./vector_index.js";
import type { Score } from "./text_classifier.js";

export type OpenOptions = Omit<LoadOptions, "onProgress">;

/** What a page shows of an artefact. */
export interface Facts {
  task: string;
  target: string;
  quant: string;
  /** That one input has. */
  texts: number;
  labels: readonly string[];
  positive: number;
  threshold: number;
  buckets: number[];
  embeds: boolean;
  runtime: string;
  threads: number;
  /** Milliseconds from the first byte to a network that is ready, and of its first inference. */
  initMs: number;
  firstMs: number;
}

/** Of the texts that the vectors find, so many are ordered by the decision. */
const JUDGED = 10;

type Report = (done: number, what: string) => void;

let model: ArtefactModel | null = null;
let index: Index | null = null;
/** Counts the indexes that were asked for: an older one stops where a newer one begins. Searches likewise. */
let asked = 0;
let sought = 0;
/** Searches that are running: the index waits for them. */
let searching = 0;

const calls = {
  async open(url: string, options: OpenOptions, report: Report): Promise<Facts> {
    const start = performance.now();
    model = await load(url, { ...options, onProgress: report });
    const ready = performance.now();
    await once(model, model.card.buckets[0]?.seqLen ?? model.card.seqLen);
    const { card, runtime, threads } = model;
    return {
      task: card.task,
      target: card.target,
      quant: card.quant,
      texts: card.texts,
      labels: card.labels,
      positive: card.positive,
      threshold: card.threshold,
      buckets: card.buckets.map((one) => one.seqLen),
      embeds: card.embedding !== null,
      runtime,
      threads,
      initMs: ready - start,
      firstMs: performance.now() - ready,
    };
  },

  score: (pairs: readonly Pair[], symmetric: boolean): Promise<number[]> => as(Matcher).score(pairs, { symmetric }),

  rank: (query: string, texts: readonly string[], topK: number | undefined): Promise<Hit[]> =>
    as(Matcher).rank(query, texts, topK),

  embed: (texts: readonly string[]): Promise<Float32Array[]> => embedder().embed(texts),

  classify: (texts: readonly (string | readonly [string, string])[]): Promise<Score[][]> => as(TextClassifier).classify(texts),

  async index(texts: readonly string[], report: Report): Promise<number> {
    const mine = ++asked;
    index = null;
    const step = required().mostRows;
    for (let at = 0; at < texts.length; at += step) {
      const some = texts.slice(at, at + step);
      const vectors = await embedder().embed(some);
      if (mine !== asked) return 0;
      if (index) (index as Index).add(vectors, some);
      else index = Index.build(vectors, some, embedder().fingerprint);
      report(at + some.length, "texts");
      do await nextMessage();
      while (searching);
    }
    return texts.length;
  },

  /** Nothing where a newer search has come meanwhile. */
  async search(query: string, topK: number): Promise<Hit[]> {
    const mine = ++sought;
    searching += 1;
    try {
      await nextMessage();
      if (!index || mine !== sought) return [];
      const near = await embedder().search(query, index, Math.max(topK, model instanceof Matcher ? JUDGED : topK));
      await nextMessage();
      if (mine !== sought || !(model instanceof Matcher)) return near.slice(0, topK);
      const judged = await model.rank(query, near.map((hit) => hit.text), topK);
      return judged.map((hit) => ({ ...hit, place: (near[hit.place] as Hit).place }));
    } finally {
      searching -= 1;
    }
  },

  async measure(seqLen: number, seconds: number, report: Report): Promise<number[]> {
    const opened = required();
    const times: number[] = [];
    for (const end = performance.now() + 1000 * seconds; performance.now() < end || times.length < 5; ) {
      times.push(await once(opened, seqLen));
      if (times.length % 5 === 0) report(times.length, "inferences");
    }
    return times;
  },
};
export type Calls = typeof calls;
/** What a page gives a call: all but the last parameter of those that report. */
export type Given<Name extends keyof Calls> =
  Parameters<Calls[Name]> extends [...infer Rest, Report] ? Rest : Parameters<Calls[Name]>;

function required(): ArtefactModel {
  if (!model) throw new DataError("no artefact is open; call open first");
  return model;
}

function as<Model extends ArtefactModel>(Class: new (...given: never[]) => Model): Model {
  const opened = required();
  if (!(opened instanceof Class)) throw new DataError(`the artefact is for ${opened.card.task}, which does not do this`);
  return opened;
}

function embedder(): Embedder {
  const opened = required();
  return opened instanceof Embedder ? opened : Embedder.of(opened);
}

/** Milliseconds of one inference of so many tokens. */
async function once(opened: ArtefactModel, seqLen: number): Promise<number> {
  const start = performance.now();
  await opened.runFull(seqLen);
  return performance.now() - start;
}

const channel = new MessageChannel();
const resumed: (() => void)[] = [];
channel.port1.onmessage = () => resumed.shift()?.();

/** Lets messages that have come be answered first; a timer would add four milliseconds each time. */
function nextMessage(): Promise<void> {
  return new Promise((resolve) => {
    resumed.push(resolve);
    channel.port2.postMessage(null);
  });
}

globalThis.onmessage = async ({ data }: MessageEvent<{ id: number; name: keyof Calls; given: unknown[] }>) => {
  const { id, name, given } = data;
  const report: Report = (done, what) => postMessage({ id, progress: [done, what] });
  try {
    const call = calls[name] as (...all: unknown[]) => Promise<unknown>;
    postMessage({ id, result: await call(...given, report) });
  } catch (error) {
    postMessage({ id, error: toMessage(error) });
  }
};
