/**
 * An artefact in a worker: the page stays responsive while the network runs.
 *
 *     import { openInWorker } from "mobilebert-runtime/client";
 *     const model = await openInWorker("worker.js", "models/matcher-int8");
 *     await model.rank("How old is the Moon?", ["What is the Moon's age?", "How far is it?"], 1);
 */

import { fromMessage, type ErrorMessage } from "./errors.js";
import type { Hit, Pair } from "./matcher.js";
import type { Score } from "./text_classifier.js";
import type { Calls, Facts, Given, OpenOptions } from "./worker.js";

export type { Facts, OpenOptions } from "./worker.js";

/** A message from the worker: an answer, an error, or how far a call has come. */
export type Answer = { id: number } & ({ result: unknown } | { error: ErrorMessage } | { progress: [number, string] });

interface Waiting {
  resolve(value: unknown): void;
  reject(error: Error): void;
  progress?: ((done: number, what: string) => void) | undefined;
}

export class WorkerModel {
  private readonly waiting = new Map<number, Waiting>();
  private next = 0;
  /** What the card and the runtime say, once `open` is done. */
  facts!: Facts;

  constructor(private readonly worker: Worker) {
    worker.onmessage = ({ data }: MessageEvent<Answer>) => this.receive(data);
    worker.onerror = (event) => {
      for (const one of this.waiting.values()) one.reject(new Error(event.message || "the worker's script can't be loaded"));
      this.waiting.clear();
    };
  }

  async open(url: string, options: OpenOptions = {}, progress?: (read: number, file: string) => void): Promise<this> {
    this.facts = await this.call("open", [new URL(url, location.href).href, absolute(options)], progress);
    return this;
  }

  score(pairs: readonly Pair[], symmetric = false): Promise<number[]> {
    return this.call("score", [pairs, symmetric]);
  }

  rank(query: string, texts: readonly string[], topK?: number): Promise<Hit[]> {
    return this.call("rank", [query, texts, topK]);
  }

  embed(texts: readonly string[]): Promise<Float32Array[]> {
    return this.call("embed", [texts]);
  }

  classify(texts: readonly (string | readonly [string, string])[]): Promise<Score[][]> {
    return this.call("classify", [texts]);
  }

  /** Makes the worker's index of texts, in the place of an earlier one; `progress` tells how many are in it. */
  index(texts: readonly string[], progress?: (done: number, what: string) => void): Promise<number> {
    return this.call("index", [texts], progress);
  }

  /** The nearest texts of the index as far as it is made, ordered by the decision of a matcher. */
  search(query: string, topK: number): Promise<Hit[]> {
    return this.call("search", [query, topK]);
  }

  /** Milliseconds of one inference after another at a bucket's length, for so many seconds. */
  measure(seqLen: number, seconds: number, progress?: (done: number, what: string) => void): Promise<number[]> {
    return this.call("measure", [seqLen, seconds], progress);
  }

  close(): void {
    this.worker.terminate();
    for (const one of this.waiting.values()) one.reject(new Error("the worker was closed"));
    this.waiting.clear();
  }

  private call<Name extends keyof Calls>(
    name: Name,
    given: Given<Name>,
    progress?: (done: number, what: string) => void,
  ): Promise<Awaited<ReturnType<Calls[Name]>>> {
    const id = this.next++;
    return new Promise((resolve, reject) => {
      this.waiting.set(id, { resolve: resolve as (value: unknown) => void, reject, progress });
      this.worker.postMessage({ id, name, given });
    });
  }

  private receive(answer: Answer): void {
    const one = this.waiting.get(answer.id);
    if (!one) return;
    if ("progress" in answer) return one.progress?.(...answer.progress);
    this.waiting.delete(answer.id);
    if ("error" in answer) one.reject(fromMessage(answer.error));
    else one.resolve(answer.result);
  }
}

/** Starts a worker of `script` (the package's worker.js) and opens an artefact in it. */
export async function openInWorker(script: string | URL, url: string, options: OpenOptions = {}): Promise<WorkerModel> {
  const model = new WorkerModel(new Worker(script));
  try {
    return await model.open(url, options);
  } catch (error) {
    model.close();
    throw error;
  }
}

/** A worker resolves addresses by its own; the page's are meant. */
function absolute(options: OpenOptions): OpenOptions {
  return { ...options, wasm: new URL(`${(options.wasm ?? "wasm").replace(/\/*$/, "")}/`, location.href).href };
}
