/**
 * The same in a browser's worker: answers a message {artefact, golden, options} with a `Compared` or an error's text,
 * and a message {artefact, pairs, options} with a `Verdict`.
 */

import { load, type LoadOptions } from "../src/index.js";
import { compare, type Golden } from "./compare.js";
import { verdict } from "./verdict.js";

interface Asked {
  artefact: string;
  golden?: string;
  pairs?: [string, string][];
  options: LoadOptions;
}

globalThis.onmessage = async ({ data: { artefact, golden, pairs, options } }: MessageEvent<Asked>) => {
  if (pairs) return postMessage(await verdict(load, artefact, pairs, options));
  try {
    const start = performance.now();
    const model = await load(artefact, options);
    const loadMs = performance.now() - start;
    const expected = (await (await fetch(golden as string)).json()) as Golden;
    postMessage({ ...(await compare(model, expected)), loadMs });
  } catch (error) {
    postMessage({ error: String((error as Error).stack ?? error) });
  }
};
