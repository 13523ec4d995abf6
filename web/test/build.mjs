/** Builds the tests' programs into dist-test/. */

import { build } from "esbuild";
import { common, worker, at } from "../build.mjs";

const out = at("dist-test");
await build({ ...common, entryPoints: [at("test/node_compare.ts"), at("test/node_index.ts")], outdir: out, platform: "node", packages: "external" });
await build({ ...worker, entryPoints: [at("test/worker_compare.ts"), at("test/beside_worker.ts")], outdir: out });
