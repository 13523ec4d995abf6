/** .onnx files through ONNX Runtime: onnxruntime-web in a browser, onnxruntime-node or -web in Node. */

import type * as Ort from "onnxruntime-common";
import type { Card } from "../card.js";
import { ArtefactError, firstLine } from "../errors.js";
import { checkSpecs, spec, type Inputs, type Network, type Outputs, type TensorSpecs } from "../network.js";

/** Inputs in one call of a file that takes several: more save no time, and hold more memory. */
const MOST_ROWS = 8;
/** The axes that take every bucket's length, and several inputs at once. */
const TOKENS_AXIS = "tokens";
const BATCH_AXIS = "batch";

export interface OnnxOptions {
  ort: typeof Ort;
  /** Name of the package, for `runtime`. */
  name: string;
  provider: "wasm" | "cpu";
  threads: number;
}

export async function openOnnx(where: string, file: Uint8Array, card: Card, options: OnnxOptions): Promise<Network> {
  const { ort, provider, threads } = options;
  let session: Ort.InferenceSession;
  try {
    session = await ort.InferenceSession.create(file, {
      executionProviders: [provider],
      intraOpNumThreads: threads,
      interOpNumThreads: 1,
      logSeverityLevel: 3, // errors only; a refused file is reported here
    });
  } catch (error) {
    throw new ArtefactError(`${where}: ${options.name} refuses it (${firstLine(error)}); export it again`);
  }
  for (const { seqLen } of card.buckets) {
    checkSpecs(where, card, seqLen, specsOf(session.inputMetadata, seqLen), specsOf(session.outputMetadata, seqLen));
  }
  return new OnnxNetwork(session, options);
}

class OnnxNetwork implements Network {
  readonly packed = null; // inputs of like length run together instead
  readonly mostRows: number;
  readonly runtime: string;
  readonly threads: number;
  /** A session of onnxruntime-web takes one call at a time. */
  private last: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly session: Ort.InferenceSession,
    private readonly options: OnnxOptions,
  ) {
    this.runtime = `${options.name} ${options.provider}`;
    this.threads = options.threads;
    const free = session.inputMetadata.every((one) => one.isTensor && one.shape[0] === BATCH_AXIS);
    this.mostRows = free ? MOST_ROWS : 1;
  }

  run(inputs: Inputs): Promise<Outputs> {
    const found = this.last.then(() => this.runOnce(inputs));
    this.last = found.catch(() => undefined);
    return found;
  }

  runPacked(): Promise<Outputs> {
    throw new Error("an .onnx file has no packed graph");
  }

  dispose(): void {
    void this.session.release();
  }

  private async runOnce({ rows, width, tensors }: Inputs): Promise<Outputs> {
    const { Tensor } = this.options.ort;
    const given = Object.fromEntries(
      Object.entries(tensors).map(([name, data]) => [name, new Tensor("int32", data, [rows, width])]),
    );
    try {
      const answer = await this.session.run(given);
      return Object.fromEntries(
        Object.entries(answer).map(([name, tensor]) => [name, { shape: tensor.dims, data: tensor.data as Float32Array }]),
      );
    } catch (error) {
      throw new ArtefactError(`${this.options.name} can't run the network (${firstLine(error)}); export the artefact again`);
    }
  }
}

function specsOf(values: readonly Ort.InferenceSession.ValueMetadata[], tokens: number): TensorSpecs {
  const free: Record<string, number> = { [TOKENS_AXIS]: tokens, [BATCH_AXIS]: 1 };
  return Object.fromEntries(
    values.map((one) => {
      if (!one.isTensor) return [one.name, "no tensor"];
      const shape = one.shape.map((axis) => (typeof axis === "string" ? (free[axis] ?? Number.NaN) : axis));
      return [one.name, spec(one.type, shape)];
    }),
  );
}
