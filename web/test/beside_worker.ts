/** One of ours in a worker, for latency_beside.mjs: answers {open} once, then {text} with the milliseconds of its vector. */

import { Embedder, load, type LoadOptions } from "../src/index.js";

let embedder: Embedder;

globalThis.onmessage = async ({ data }: MessageEvent<{ open?: string; options?: LoadOptions; text?: string }>) => {
  const start = performance.now();
  try {
    if (data.open) embedder = Embedder.of(await load(data.open, data.options));
    else await embedder.embed([data.text as string]);
    postMessage({ ms: performance.now() - start });
  } catch (error) {
    postMessage({ error: String((error as Error).stack ?? error) });
  }
};
