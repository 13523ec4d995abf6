/** What the classes of all tasks share: an artefact opened, checked and run. */

import type { Card, TaskName } from "./card.js";
import { ArtefactError } from "./errors.js";
import { checkAnswer, pad, type Network, type Outputs } from "./network.js";
import { plan } from "./packing.js";
import type { Encoded } from "./template.js";
import type { PairTokenizer } from "./tokenizer.js";

/** A network in a runtime, with its card and tokenizer. */
export interface Opened {
  card: Card;
  tokenizer: PairTokenizer;
  network: Network;
  /** Of what makes the answers, 64 hexadecimal digits; an index of other vectors is refused by it. */
  fingerprint: string;
}

export abstract class ArtefactModel {
  readonly card: Card;
  readonly fingerprint: string;
  protected readonly tokenizer: PairTokenizer;
  protected readonly network: Network;

  constructor(protected readonly opened: Opened) {
    ({ card: this.card, fingerprint: this.fingerprint, tokenizer: this.tokenizer, network: this.network } = opened);
  }

  /** Package and backend, such as "LiteRT.js wasm". */
  get runtime(): string {
    return this.network.runtime;
  }

  /** Inputs that one call of the network takes at most. */
  get mostRows(): number {
    return this.network.mostRows;
  }

  get threads(): number {
    return this.network.threads;
  }

  /** Frees the network, also for other objects that share it. */
  dispose(): void {
    this.network.dispose();
  }

  /** Token ids and types of texts or pairs, as the network reads them, unpadded. */
  encode(texts: readonly (string | readonly string[])[]): Encoded[] {
    const grouped = texts.map((one) => (typeof one === "string" ? [one] : one));
    return this.tokenizer.encode(grouped, this.card.seqLen);
  }

  /** Runs the network once on a full input of so many tokens, a bucket's; for measuring. */
  async runFull(tokens: number): Promise<void> {
    const row = { ids: new Array<number>(tokens).fill(this.card.tokenizer.padId), types: new Array<number>(tokens).fill(0) };
    await this.network.run(pad([row], tokens, this.card));
  }

  /**
   * The network's answer to each input, which runs in the smallest bucket that holds it.
   *
   * Where the file takes several inputs at once, those of one bucket and like length run together, padded to a
   * multiple of 8 tokens.
   */
  protected async runRows(rows: readonly Encoded[], output: string): Promise<Float32Array[]> {
    const lengthOf = (place: number) => (rows[place] as Encoded).ids.length;
    const order = rows.map((_, place) => place).sort((one, other) => lengthOf(one) - lengthOf(other));
    const found: Float32Array[] = new Array(rows.length);
    for (let start = 0; start < order.length; ) {
      const bucket = this.card.bucket(lengthOf(order[start] as number)).seqLen;
      const places = order
        .slice(start, start + this.network.mostRows)
        .filter((place) => this.card.bucket(lengthOf(place)).seqLen === bucket);
      let width = bucket;
      if (places.length > 1) {
        const eighths = Math.ceil(lengthOf(places.at(-1) as number) / 8);
        width = Math.min(bucket, Math.max(8 * eighths, this.card.buckets[0]?.seqLen ?? bucket));
      }
      const inputs = pad(places.map((place) => rows[place] as Encoded), width, this.card);
      const shape = [places.length, ...(this.card.outputs(width)[output] as number[]).slice(1)];
      const answer = checkAnswer(await this.network.run(inputs), output, shape);
      const size = answer.length / places.length;
      places.forEach((place, i) => (found[place] = answer.slice(i * size, (i + 1) * size)));
      start += places.length;
    }
    return found;
  }

  /** Logits of the pairs that run packed, by their place in `rows`; none where the file has no graph for it. */
  protected async runPacked(rows: readonly Encoded[], output: string): Promise<Map<number, Float32Array>> {
    const found = new Map<number, Float32Array>();
    const shape = this.network.packed;
    if (!shape) return found;
    const labels = this.card.labels.length;
    for (const { places, packed } of plan(rows, shape, (tokens) => this.card.bucket(tokens).seqLen)) {
      const outputs: Outputs = await this.network.runPacked(pad([packed], shape.seqLen, this.card));
      const answer = checkAnswer(outputs, output, [1, shape.texts, labels]);
      places.forEach((place, i) => found.set(place, answer.slice(i * labels, (i + 1) * labels)));
    }
    return found;
  }
}

export function wrongTask(card: Card, task: TaskName): ArtefactError {
  return new ArtefactError(`the artefact is for ${card.task}, not for ${task}; open it with load()`);
}
