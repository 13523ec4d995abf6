/** The same in a browser's worker: answers a message {artefact, golden, options} with a `Compared` or an error's text. */

import { load, type LoadOptions } from "../src/index.js";
import { compare, type Golden } from "./compare.js";

globalThis.onmessage = async ({ data }: MessageEvent<{ artefact: string; golden: string; options: LoadOptions }>) => {
  try {
    const start = performance.now();
    const model = await load(data.artefact, data.options);
    const loadMs = performance.now() - start;
    const golden = (await (await fetch(data.golden)).json()) as Golden;
    postMessage({ ...(await compare(model, golden)), loadMs });
  } catch (error) {
    postMessage({ error: String((error as Error).stack ?? error) });
  }
};
