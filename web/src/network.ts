/** A loaded model file behind one call, whichever runtime runs it. Inputs and outputs are found by name. */

import { EMBEDDING, INPUT_NAMES, LOGITS, type Card } from "./card.js";
import { ArtefactError } from "./errors.js";
import type { PackedShape } from "./packing.js";
import type { Encoded } from "./template.js";

/** Inputs as the network reads them: int32 of `rows` × `width`, by name. */
export interface Inputs {
  rows: number;
  width: number;
  tensors: Record<string, Int32Array>;
}

export type Outputs = Record<string, { shape: readonly number[]; data: Float32Array }>;

export interface Network {
  /** Package and backend that run it, such as "litert wasm". */
  readonly runtime: string;
  readonly threads: number;
  /** Inputs that one call takes at most. */
  readonly mostRows: number;
  /** The graph that compares a query with several texts; null where the file has none. */
  readonly packed: PackedShape | null;
  run(inputs: Inputs): Promise<Outputs>;
  runPacked(inputs: Inputs): Promise<Outputs>;
  dispose(): void;
}

/** Name → type and shape. */
export type TensorSpecs = Record<string, string>;

export function spec(dtype: string, shape: Iterable<number>): string {
  return `${dtype}[${[...shape].join(", ")}]`;
}

/** Throws unless a file's inputs and outputs at a sequence length are those of the card. */
export function checkSpecs(where: string, card: Card, tokens: number, inputs: TensorSpecs, outputs: TensorSpecs): void {
  const needed = Object.fromEntries(card.inputs.map((name) => [name, spec("int32", [1, tokens])]));
  const given = Object.entries(card.outputs(tokens)).map(([name, shape]) => [name, spec("float32", shape)]);
  for (const [what, found, expected] of [
    ["inputs", inputs, needed],
    ["outputs", outputs, Object.fromEntries(given)],
  ] as const) {
    if (told(found) !== told(expected)) {
      throw new ArtefactError(`${where}: its ${what} are ${told(found)} but io.json needs ${told(expected)}; export it again`);
    }
  }
}

function told(specs: TensorSpecs): string {
  return Object.keys(specs)
    .sort()
    .map((name) => `${name} ${specs[name]}`)
    .join(", ");
}

/** Rows of ids in the tensors that the card names, padded to a width. */
export function pad(rows: readonly Encoded[], width: number, card: Card): Inputs {
  const [ids, mask, types] = INPUT_NAMES.map(() => new Int32Array(rows.length * width)) as [Int32Array, Int32Array, Int32Array];
  ids.fill(card.tokenizer.padId);
  rows.forEach((row, number) => {
    ids.set(row.ids, number * width);
    mask.fill(1, number * width, number * width + row.ids.length);
    types.set(row.types, number * width);
  });
  const all: Record<string, Int32Array> = { input_ids: ids, attention_mask: mask, token_type_ids: types };
  return { rows: rows.length, width, tensors: Object.fromEntries(card.inputs.map((name) => [name, all[name] as Int32Array])) };
}

/** What a network returned, if it has the shape and finite numbers: a damaged file may return something else. */
export function checkAnswer(outputs: Outputs, name: string, shape: readonly number[]): Float32Array {
  const found = outputs[name];
  if (!found || found.shape.join() !== shape.join() || !found.data.every(Number.isFinite)) {
    throw new ArtefactError("the network's answer is not a row of finite numbers; export the artefact again");
  }
  return found.data;
}

export const OUTPUT = { logits: LOGITS, embedding: EMBEDDING } as const;
