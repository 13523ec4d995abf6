/** node browser_compare.mjs ARTEFACT GOLDEN.json [THREADS] → one line of JSON, a `Compared` of headless Chromium. */

import path from "node:path";
import { at } from "../build.mjs";
import { openBrowser } from "./browser.mjs";
import { serve } from "./serve.mjs";
import { copyWasm } from "../bin/copy-wasm.mjs";

const [artefact, golden, threads = "1"] = process.argv.slice(2);
const wasm = at("dist-test/wasm");
copyWasm(wasm);
const server = await serve({ "": at("test"), script: at("dist-test"), wasm, artefact: path.resolve(artefact), golden: path.dirname(path.resolve(golden)) });
const browser = await openBrowser();
try {
  const page = await browser.newPage();
  const elsewhere = [];
  page.on("request", (request) => {
    if (!request.url().startsWith(server.url) && !request.url().startsWith("blob:")) elsewhere.push(request.url());
  });
  await page.goto(`${server.url}blank.html`);
  const found = await page.evaluate(
    ({ url, name, threads }) =>
      new Promise((resolve) => {
        const worker = new Worker(`${url}script/worker_compare.js`);
        worker.onmessage = ({ data }) => resolve(data);
        worker.onerror = (event) => resolve({ error: event.message });
        worker.postMessage({ artefact: `${url}artefact`, golden: `${url}golden/${name}`, options: { wasm: `${url}wasm/`, threads } });
      }),
    { url: server.url, name: path.basename(golden), threads: Number(threads) },
  );
  console.log(JSON.stringify({ ...found, elsewhere, browser: browser.version() }));
  process.exitCode = found.error ? 1 : 0;
} finally {
  await browser.close();
  server.close();
}
