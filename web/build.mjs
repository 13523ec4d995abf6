/**
 * Builds the package into dist/, and the site's files into the Python package that `mobilebert web` reads them from.
 *
 *     node build.mjs            both
 *     node build.mjs --package  the package alone
 *     node build.mjs --check    fails where the site's files in the Python package are not those of this source
 */

import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = path.dirname(fileURLToPath(import.meta.url));
export const at = (...parts) => path.join(here, ...parts);
const UNICODE_TABLE = at("../android_bench/library/src/main/resources/mobilebert-runtime/unicode.txt");
const SITE_FILES = at("../mobilebert_export/site_files");

const unicodeTable = {
  name: "unicode-table",
  setup(building) {
    building.onResolve({ filter: /^unicode-table$/ }, () => ({ path: UNICODE_TABLE }));
    building.onLoad({ filter: /unicode\.txt$/ }, ({ path: file }) => ({ contents: readFileSync(file, "utf8"), loader: "text" }));
  },
};
export const common = { bundle: true, format: "esm", target: "es2022", plugins: [unicodeTable], logLevel: "warning", legalComments: "none" };
/** A classic worker, because LiteRT.js loads its WebAssembly by importScripts; both runtimes are in it. */
export const worker = {
  ...common,
  format: "iife",
  minify: true,
  conditions: ["onnxruntime-web-use-extern-wasm"],
  logOverride: { "empty-import-meta": "silent" },
};

async function buildPackage() {
  rmSync(at("dist"), { recursive: true, force: true });
  await build({
    ...common,
    entryPoints: [at("src/index.ts"), at("src/node.ts"), at("src/core.ts"), at("src/client.ts")],
    outdir: at("dist"),
    splitting: true,
    platform: "neutral",
    packages: "external",
    external: ["node:*"],
  });
  await build({ ...worker, entryPoints: [at("src/worker.ts")], outfile: at("dist/worker.js") });
  execFileSync(at("node_modules/.bin/tsc"), ["--emitDeclarationOnly"], { cwd: here, stdio: "inherit" });
}

async function buildSite(out) {
  mkdirSync(out, { recursive: true });
  await build({ ...common, entryPoints: [at("site/app.ts")], outfile: path.join(out, "app.js"), minify: true });
  await build({ ...worker, entryPoints: [at("src/worker.ts")], outfile: path.join(out, "worker.js") });
  await build({ ...common, format: "iife", entryPoints: [at("site/service_worker.ts")], outfile: path.join(out, "service-worker.js"), minify: true });
  await build({ ...common, entryPoints: [at("site/style.css")], outfile: path.join(out, "style.css"), minify: true });
  for (const file of ["index.html", "icon.svg", "manifest.webmanifest"]) cpSync(at("site", file), path.join(out, file));
  // `mobilebert web` copies the WebAssembly of these very versions.
  const { dependencies } = JSON.parse(readFileSync(at("package.json"), "utf8"));
  writeFileSync(path.join(out, "runtimes.json"), `${JSON.stringify(dependencies, null, 2)}\n`);
}

function differences(made) {
  const names = new Set([...readdirSync(made), ...readdirSync(SITE_FILES).filter((name) => !name.startsWith("__"))]);
  return [...names].filter((name) => {
    const [one, other] = [path.join(made, name), path.join(SITE_FILES, name)];
    return !existsSync(one) || !existsSync(other) || !readFileSync(one).equals(readFileSync(other));
  });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  if (process.argv.includes("--check")) await check();
  else if (process.argv.includes("--package")) await buildPackage();
  else await Promise.all([buildPackage(), buildSite(SITE_FILES)]);
}

async function check() {
  const made = mkdtempSync(path.join(tmpdir(), "site-"));
  await buildSite(made);
  const stale = differences(made);
  rmSync(made, { recursive: true });
  if (!stale.length) return;
  console.error(`mobilebert_export/site_files: ${stale.join(", ")} not built from this source; run \`make web\``);
  process.exit(1);
}
