/** .tflite files through LiteRT.js: WebAssembly with XNNPACK, or WebGPU. */

import { loadAndCompile, loadLiteRt, Tensor, unloadLiteRt, type CompiledModel, type SignatureRunner } from "@litertjs/core";
import { LOGITS, PACKED_SIGNATURE, type Card } from "../card.js";
import { ArtefactError, firstLine, ToolError } from "../errors.js";
import { checkSpecs, spec, type Inputs, type Network, type Outputs, type TensorSpecs } from "../network.js";
import type { PackedShape } from "../packing.js";

export interface LiteRtOptions {
  /** Folder of LiteRT.js's WebAssembly files: a URL that ends in "/", or a path in Node. */
  wasm: string;
  /** Above 1 the page must be cross-origin isolated. */
  threads: number;
  accelerator: "wasm" | "webgpu";
}

/** What LiteRT.js warns of, with a trace, where there is no GPU, also when none was asked for. */
const NO_GPU = "Failed to create default WebGPU device:";
/** LiteRT.js holds one WebAssembly module for a page or worker: with threads, or without. */
let loaded: { threads: boolean; wasm: string; done: Promise<unknown> } | null = null;

async function loadRuntime({ wasm, threads, accelerator }: LiteRtOptions): Promise<void> {
  if (loaded && loaded.threads !== threads > 1) {
    throw new ToolError("LiteRT.js is loaded already, with another choice of threads; use another worker for this model");
  }
  prepare(wasm);
  const warn = console.warn;
  if (accelerator === "wasm") console.warn = (...said) => said[0] === NO_GPU || warn(...said);
  loaded ??= { threads: threads > 1, wasm, done: loadLiteRt(wasm, { threads: threads > 1 }) };
  try {
    await loaded.done;
  } catch (error) {
    loaded = null;
    throw new ToolError(`LiteRT.js can't be loaded from ${wasm} (${firstLine(error)}); give the folder of its .wasm files`);
  } finally {
    console.warn = warn;
  }
}

/**
 * Tells LiteRT.js's module where its files are, which it would look for beside the worker's script. It tells the
 * console of each step; what is no warning is left out, and that there is no NPU.
 */
function prepare(wasm: string): void {
  const folder = wasm.endsWith("/") ? wasm : `${wasm}/`;
  const print = (line: string) => {
    if (!/^INFO:|npu_registry/.test(line)) console.warn(line);
  };
  (globalThis as Record<string, unknown>)["Module"] = {
    print,
    printErr: print,
    locateFile: (file: string) => folder + file,
    mainScriptUrlOrBlob: `${folder}litert_wasm_threaded_internal.js`,
  };
}

/** After a trap the module's memory is not to be trusted: the next file gets a new one. */
function dropAfterTrap(error: unknown): void {
  if (!(error instanceof WebAssembly.RuntimeError)) return;
  loaded = null;
  try {
    unloadLiteRt();
  } catch {
    // What traps again is dropped all the same.
  }
}

export async function openLiteRt(where: string, file: Uint8Array, card: Card, options: LiteRtOptions): Promise<Network> {
  await loadRuntime(options);
  let model: CompiledModel;
  try {
    model = await loadAndCompile(file, {
      accelerator: options.accelerator,
      ...(options.accelerator === "wasm" ? { cpuOptions: { numThreads: options.threads } } : {}),
    });
  } catch (error) {
    dropAfterTrap(error);
    throw refused(where, error);
  }
  try {
    return new LiteRtNetwork(where, model, card, options);
  } catch (error) {
    model.delete();
    throw error instanceof ArtefactError ? error : refused(where, error);
  }
}

function refused(where: string, error: unknown): ArtefactError {
  return new ArtefactError(`${where}: LiteRT.js refuses it (${firstLine(error)}); export it again`);
}

class LiteRtNetwork implements Network {
  readonly mostRows = 1; // the graphs have static shapes
  readonly packed: PackedShape | null;
  readonly runtime: string;
  readonly threads: number;
  private readonly runners = new Map<number, SignatureRunner>();
  private readonly packedRunner: SignatureRunner | undefined;
  /** A model has one set of tensors: calls follow each other. */
  private last: Promise<unknown> = Promise.resolve();

  constructor(
    where: string,
    private readonly model: CompiledModel,
    card: Card,
    { accelerator, threads }: LiteRtOptions,
  ) {
    this.runtime = `LiteRT.js ${accelerator}`;
    this.threads = accelerator === "wasm" ? threads : 1;
    for (const bucket of card.buckets) {
      const runner = bucket.signature === null ? model : model.signatures[bucket.signature];
      if (!runner) throw new ArtefactError(`${where}: has no signature ${bucket.signature}, as io.json says; export it again`);
      const [inputs, outputs] = specsOf(runner);
      checkSpecs(where, card, bucket.seqLen, inputs, outputs);
      this.runners.set(bucket.seqLen, runner);
    }
    this.packedRunner = model.signatures[PACKED_SIGNATURE];
    this.packed = this.packedRunner ? packedShape(where, card, this.packedRunner) : null;
  }

  run(inputs: Inputs): Promise<Outputs> {
    return this.call(this.runners.get(inputs.width) as SignatureRunner, inputs);
  }

  runPacked(inputs: Inputs): Promise<Outputs> {
    return this.call(this.packedRunner as SignatureRunner, inputs);
  }

  dispose(): void {
    this.model.delete();
  }

  private call(runner: SignatureRunner, inputs: Inputs): Promise<Outputs> {
    const found = this.last.then(() => runOnce(runner, inputs));
    this.last = found.catch(() => undefined);
    return found;
  }
}

async function runOnce(runner: SignatureRunner, { width, tensors }: Inputs): Promise<Outputs> {
  const given: Record<string, Tensor> = {};
  let answer: Record<string, Tensor> = {};
  try {
    for (const [name, data] of Object.entries(tensors)) given[name] = new Tensor(data, [1, width]);
    answer = await runner.run(given);
    const found: Outputs = {};
    for (const [name, tensor] of Object.entries(answer)) {
      found[name] = { shape: [...tensor.type.layout.dimensions], data: Float32Array.from(await tensor.data()) };
    }
    return found;
  } catch (error) {
    dropAfterTrap(error);
    throw new ArtefactError(`LiteRT.js can't run the network (${firstLine(error)}); export the artefact again`);
  } finally {
    for (const tensor of [...Object.values(given), ...Object.values(answer)]) if (!tensor.deleted) tensor.delete();
  }
}

function specsOf(runner: SignatureRunner): [TensorSpecs, TensorSpecs] {
  const specs = (details: ReturnType<SignatureRunner["getInputDetails"]>) =>
    Object.fromEntries(details.map(({ name, dtype, shape }) => [name, spec(dtype, shape)]));
  return [specs(runner.getInputDetails()), specs(runner.getOutputDetails())];
}

/** Tokens and texts of the packed graph; an `ArtefactError` where it does not fit io.json. */
function packedShape(where: string, card: Card, runner: SignatureRunner): PackedShape {
  const [inputs, outputs] = specsOf(runner);
  const texts = [...(runner.getOutputDetails()[0]?.shape ?? [])][1] ?? 0;
  const row = spec("int32", [1, card.seqLen]);
  const fits =
    card.inputs.every((name) => inputs[name] === row) &&
    Object.keys(inputs).length === card.inputs.length &&
    JSON.stringify(outputs) === JSON.stringify({ [LOGITS]: spec("float32", [1, texts, card.labels.length]) });
  if (!fits || !card.embedding || !texts) {
    throw new ArtefactError(`${where}: its signature ${PACKED_SIGNATURE} does not fit io.json; export it again`);
  }
  return { seqLen: card.seqLen, texts };
}
