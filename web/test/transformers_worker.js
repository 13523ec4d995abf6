/** transformers.js on MiniLM in a worker, by the same messages. */

import { env, pipeline } from "/transformers/transformers.min.js";

env.allowRemoteModels = false;
env.allowLocalModels = true;
env.localModelPath = "/peer/";
env.backends.onnx.wasm.numThreads = 1;
let embed;

globalThis.onmessage = async ({ data }) => {
  const start = performance.now();
  try {
    if (data.open) {
      env.backends.onnx.wasm.wasmPaths = "/peer-ort/";
      embed = await pipeline("feature-extraction", data.open, { dtype: "q8", device: "wasm" });
    } else await embed(data.text, { pooling: "mean", normalize: true });
    postMessage({ ms: performance.now() - start });
  } catch (error) {
    postMessage({ error: String(error.stack ?? error) });
  }
};
postMessage({ started: true });
