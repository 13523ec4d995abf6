/**
 * Artefacts of `mobilebert export` in a browser.
 *
 *     import { load, Matcher } from "mobilebert-runtime";
 *     const matcher = (await load("models/matcher-int8")) as Matcher;
 *     await matcher.score([["How old is the Moon?", "What is the Moon's age?"]]);
 */

import { ToolError } from "./errors.js";
import { UrlFolder } from "./folder.js";
import { open, type LoadOptions, type OpenNetwork } from "./load.js";
import type { ArtefactModel } from "./model.js";
import { Index } from "./vector_index.js";

export * from "./public.js";

/** Opens the artefact folder at an address, relative to the page. */
export async function load(url: string, options: LoadOptions = {}): Promise<ArtefactModel> {
  return open(new UrlFolder(absolute(url)), options, openInBrowser);
}

/** Reads an index that Python's `Index.save` wrote. */
export async function loadIndex(url: string): Promise<Index> {
  return Index.read(new UrlFolder(absolute(url)));
}

function absolute(url: string): string {
  return new URL(url, globalThis.location?.href).href;
}

const openInBrowser: OpenNetwork = async (where, file, card, options) => {
  const threads = options.threads ?? 1;
  const wasm = absolute(`${(options.wasm ?? "wasm").replace(/\/*$/, "")}/`);
  if (threads > 1 && !globalThis.crossOriginIsolated) {
    throw new ToolError("threads need a page that is cross-origin isolated (COOP and COEP headers); give threads: 1 or send the headers");
  }
  if (card.target === "tflite") {
    const { openLiteRt } = await import("./backends/litert.js");
    return openLiteRt(where, file, card, { wasm, threads, accelerator: options.accelerator ?? "wasm" });
  }
  const [{ openOnnx }, ort] = await Promise.all([import("./backends/onnx.js"), import("onnxruntime-web/wasm")]);
  const files = `${wasm}ort-wasm-simd-threaded`;
  ort.env.wasm.wasmPaths = { mjs: `${files}.mjs`, wasm: `${files}.wasm` };
  ort.env.wasm.numThreads = threads;
  return openOnnx(where, file, card, { ort, name: "onnxruntime-web", provider: "wasm", threads });
};
