/**
 * node docs_page.mjs FOLDER ARTEFACT: the TypeScript of docs/web.md as a web developer has it, in headless Chromium.
 *
 * FOLDER holds the snippets, as *.ts. The package is installed from what `npm pack` packs, the snippets are type-checked
 * and bundled, the page gets its worker and the WebAssembly. → one line of JSON: what each snippet logs, and the errors.
 */

import { execFileSync } from "node:child_process";
import { copyFileSync, cpSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { build } from "esbuild";
import { at } from "../build.mjs";
import { openBrowser } from "./browser.mjs";
import { serve } from "./serve.mjs";

const [folder, artefact] = process.argv.slice(2).map((one) => path.resolve(one));
const modules = path.join(folder, "node_modules");
const installed = path.join(modules, "mobilebert-runtime");
const snippets = readdirSync(folder).filter((name) => name.endsWith(".ts"));
const run = (program, ...given) => execFileSync(program, given, { cwd: folder, encoding: "utf8" });

execFileSync("node", [at("build.mjs"), "--package"], { cwd: at("."), stdio: "ignore" });
mkdirSync(installed, { recursive: true });
const packed = run("npm", "pack", at("."), "--ignore-scripts", "--silent").trim();
run("tar", "--extract", "--file", packed, "--directory", installed, "--strip-components", "1");
for (const name of ["@huggingface", "@litertjs", "@webgpu", "onnxruntime-web", "onnxruntime-common"]) {
  symlinkSync(at("node_modules", name), path.join(modules, name));
}
writeFileSync(
  path.join(folder, "tsconfig.json"),
  JSON.stringify({
    compilerOptions: { strict: true, noEmit: true, target: "es2022", module: "esnext", moduleResolution: "bundler", lib: ["es2022", "dom"], types: [] },
    files: snippets,
  }),
);
run("node", at("node_modules/typescript/bin/tsc"), "--project", folder);
await build({ entryPoints: snippets.map((name) => path.join(folder, name)), outdir: folder, bundle: true, format: "esm", logLevel: "warning", legalComments: "none" });
copyFileSync(path.join(installed, "dist/worker.js"), path.join(folder, "worker.js"));
run("node", path.join(installed, "bin/copy-wasm.mjs"), path.join(folder, "wasm"));
cpSync(artefact, path.join(folder, "models/matcher-int8"), { recursive: true });

const server = await serve({ "": folder });
const browser = await openBrowser();
const found = { logged: {}, errors: [], elsewhere: [] };
try {
  for (const name of snippets) {
    const page = await browser.newPage();
    await page.addInitScript(() => {
      globalThis.logged = [];
      console.log = (...given) => globalThis.logged.push(given);
    });
    page.on("pageerror", (error) => found.errors.push(error.message));
    page.on("request", (request) => {
      if (!request.url().startsWith(server.url) && !request.url().startsWith("blob:")) found.elsewhere.push(request.url());
    });
    const script = `${path.basename(name, ".ts")}.js`;
    writeFileSync(path.join(folder, "index.html"), '<!doctype html><html lang="en"><title>docs</title>');
    await page.goto(server.url);
    await page.evaluate((url) => import(url), `${server.url}${script}`).catch((error) => found.errors.push(error.message));
    found.logged[name] = await page.evaluate(() => globalThis.logged);
    await page.close();
  }
} finally {
  await browser.close();
  server.close();
}
console.log(JSON.stringify(found));
process.exit(0);
