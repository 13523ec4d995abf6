#!/usr/bin/env node
/** Copies the runtimes' WebAssembly files into a folder of a web site: npx mobilebert-copy-wasm public/wasm */

import { copyFileSync, mkdirSync, realpathSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { fileURLToPath } from "node:url";

const require = createRequire(import.meta.url);
const LITERT = ["litert_wasm_internal", "litert_wasm_threaded_internal", "litert_wasm_compat_internal"].flatMap((name) => [`${name}.js`, `${name}.wasm`]);
const ONNX = ["ort-wasm-simd-threaded.mjs", "ort-wasm-simd-threaded.wasm"];

export function copyWasm(out) {
  const litert = path.join(path.dirname(require.resolve("@litertjs/core")), "../wasm");
  const onnx = path.dirname(require.resolve("onnxruntime-web/ort-wasm-simd-threaded.wasm"));
  mkdirSync(out, { recursive: true });
  for (const [folder, names] of [[litert, LITERT], [onnx, ONNX]]) {
    for (const name of names) copyFileSync(path.join(folder, name), path.join(out, name));
  }
}

if (process.argv[1] && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  const [out] = process.argv.slice(2);
  if (!out) {
    console.error("give the folder: mobilebert-copy-wasm public/wasm");
    process.exit(2);
  }
  copyWasm(out);
}
