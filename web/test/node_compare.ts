/**
 * node node_compare.js ARTEFACT GOLDEN.json → one line of JSON, a `Compared`.
 * node node_compare.js --answer < lines of JSON {artefact, pairs, texts} → a line of JSON for each: the verdict.
 */

import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { Embedder, load, Matcher, TextClassifier, UserError, type ArtefactModel } from "../src/node.js";
import { compare, type Golden } from "./compare.js";

async function answers(model: ArtefactModel, pairs: [string, string][]): Promise<unknown> {
  const texts = pairs.map(([a]) => a);
  if (model instanceof Matcher) return model.score(pairs);
  if (model instanceof TextClassifier) return model.scores(texts);
  return (await (model as Embedder).embed(texts)).map((vector) => [...vector]);
}

const [first, second] = process.argv.slice(2);
if (first === "--answer") {
  for await (const line of createInterface({ input: process.stdin })) {
    const { artefact, pairs } = JSON.parse(line) as { artefact: string; pairs: [string, string][] };
    let said: object;
    try {
      const model = await load(artefact);
      const scores = await answers(model, pairs);
      model.dispose();
      said = { verdict: "accepted", scores, nan: !JSON.stringify(scores).match(/^[^n]*$/) };
    } catch (error) {
      const { name, message, stack } = error as Error;
      said = error instanceof UserError ? { verdict: "refused", why: `${name}: ${message}`.slice(0, 300) } : { verdict: "traceback", why: stack };
    }
    process.stdout.write(`${JSON.stringify(said)}\n`);
  }
} else {
  const model = await load(first!);
  process.stdout.write(`${JSON.stringify(await compare(model, JSON.parse(readFileSync(second!, "utf8")) as Golden))}\n`);
}
process.exit(0);
