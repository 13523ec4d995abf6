/**
 * Artefacts of `mobilebert export` in Node: .tflite files through LiteRT.js, .onnx files through onnxruntime-node where
 * it is installed and onnxruntime-web elsewhere (`runtime` says which).
 */

import { lstat, readFile, stat } from "node:fs/promises";
import { createRequire } from "node:module";
import path from "node:path";
import { fileURLToPath } from "node:url";
import vm from "node:vm";
import { readFileSync } from "node:fs";
import { ArtefactError, firstLine, ToolError } from "./errors.js";
import { UrlFolder, type Folder } from "./folder.js";
import { open, type LoadOptions, type OpenNetwork } from "./load.js";
import type { ArtefactModel } from "./model.js";
import { Index } from "./vector_index.js";

export * from "./public.js";

const require = createRequire(import.meta.url);

/** Opens an artefact folder of the disk, or at an http address. */
export async function load(place: string, options: LoadOptions = {}): Promise<ArtefactModel> {
  return open(folderOf(place), options, openInNode);
}

/** Reads an index that Python's `Index.save` wrote. */
export async function loadIndex(place: string): Promise<Index> {
  return Index.read(folderOf(place));
}

function folderOf(place: string): Folder {
  return /^https?:/.test(place) ? new UrlFolder(place) : new DiskFolder(place);
}

class DiskFolder implements Folder {
  constructor(readonly name: string) {}

  /** Refuses what is not a regular file of a sensible size before it is opened: a pipe would never end. */
  async read(file: string, largest: number): Promise<Uint8Array> {
    const place = path.join(this.name, file);
    try {
      await lstat(place);
      const found = await stat(place);
      if (!found.isFile()) throw new ArtefactError(`${place}: is not a regular file; export the artefact again`);
      if (found.size > largest) {
        throw new ArtefactError(`${place}: has ${found.size} bytes, more than the ${largest} allowed; export the artefact again`);
      }
      return new Uint8Array(await readFile(place));
    } catch (error) {
      if (error instanceof ArtefactError) throw error;
      throw new ArtefactError(`${place}: missing or can't be read (${firstLine(error)}); export the artefact again`);
    }
  }
}

const openInNode: OpenNetwork = async (where, file, card, options) => {
  const threads = options.threads ?? 1;
  if (card.target === "tflite") {
    if (threads > 1) throw new ToolError("LiteRT.js has one thread in Node; give threads: 1, or export an .onnx artefact");
    const wasm = options.wasm ?? path.join(path.dirname(require.resolve("@litertjs/core")), "../wasm");
    letLiteRtLoad();
    const { openLiteRt } = await import("./backends/litert.js");
    return openLiteRt(where, file, card, { wasm, threads, accelerator: "wasm" });
  }
  const { openOnnx } = await import("./backends/onnx.js");
  const native = await installed("onnxruntime-node");
  if (native) return openOnnx(where, file, card, { ort: native, name: "onnxruntime-node", provider: "cpu", threads });
  const ort = await import("onnxruntime-web");
  ort.env.wasm.numThreads = threads;
  return openOnnx(where, file, card, { ort, name: "onnxruntime-web", provider: "wasm", threads });
};

async function installed(name: string): Promise<typeof import("onnxruntime-common") | null> {
  try {
    require.resolve(name);
  } catch {
    return null;
  }
  const found = await import(name);
  return found.default ?? found;
}

/** LiteRT.js loads its module as a worker does, by `importScripts`, and looks for a GPU; Node has neither. */
function letLiteRtLoad(): void {
  const world = globalThis as Record<string, unknown>;
  world["self"] ??= globalThis;
  if (!("navigator" in world)) world["navigator"] = {};
  world["importScripts"] ??= (script: string) => {
    const place = script.startsWith("file:") ? fileURLToPath(script) : script;
    const body = `(function (require, __filename, __dirname) {${readFileSync(place, "utf8")}\nself.ModuleFactory ??= ModuleFactory;})`;
    vm.runInThisContext(body, { filename: place })(require, place, path.dirname(place));
  };
}
