/**
 * node browser_answer.mjs FOLDER < lines of JSON {artefact, pairs} → a line of JSON for each: the `Verdict` of headless
 * Chromium, in a worker of its own. Artefacts lie in FOLDER, by name.
 */

import path from "node:path";
import { createInterface } from "node:readline";
import { copyWasm } from "../bin/copy-wasm.mjs";
import { at } from "../build.mjs";
import { openBrowser } from "./browser.mjs";
import { serve } from "./serve.mjs";

const [folder] = process.argv.slice(2);
const wasm = at("dist-test/wasm");
copyWasm(wasm);
const server = await serve({ "": at("test"), script: at("dist-test"), wasm, artefacts: path.resolve(folder) });
const browser = await openBrowser();
const page = await browser.newPage();
await page.goto(`${server.url}blank.html`);
for await (const line of createInterface({ input: process.stdin })) {
  const { artefact, pairs } = JSON.parse(line);
  const said = await page.evaluate(
    ({ url, artefact, pairs }) =>
      new Promise((resolve) => {
        const worker = new Worker(`${url}script/worker_compare.js`);
        const end = (verdict) => {
          worker.terminate();
          resolve(verdict);
        };
        worker.onmessage = ({ data }) => end(data);
        worker.onerror = (event) => end({ verdict: "crashed", why: event.message });
        worker.postMessage({ artefact: `${url}artefacts/${artefact}`, pairs, options: { wasm: `${url}wasm/` } });
      }),
    { url: server.url, artefact, pairs },
  );
  process.stdout.write(`${JSON.stringify(said)}\n`);
}
await browser.close();
server.close();
process.exit(0);
