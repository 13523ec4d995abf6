/**
 * node node_compare.js ARTEFACT GOLDEN.json → one line of JSON, a `Compared`.
 * node node_compare.js --answer < lines of JSON {artefact, pairs, options} → a line of JSON for each: the `Verdict`.
 */

import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { load, type LoadOptions } from "../src/node.js";
import { compare, type Golden } from "./compare.js";
import { verdict } from "./verdict.js";

const [first, second] = process.argv.slice(2);
if (first === "--answer") {
  for await (const line of createInterface({ input: process.stdin })) {
    const { artefact, pairs, options } = JSON.parse(line) as { artefact: string; pairs: [string, string][]; options: LoadOptions };
    process.stdout.write(`${JSON.stringify(await verdict(load, artefact, pairs, options))}\n`);
  }
} else {
  const model = await load(first!);
  process.stdout.write(`${JSON.stringify(await compare(model, JSON.parse(readFileSync(second!, "utf8")) as Golden))}\n`);
}
process.exit(0);
