/** node node_index.js INDEX QUERIES.json: what `nearest` finds for each vector, or the refusal; and vectors indexed here. */

import { readFileSync } from "node:fs";
import { Index, loadIndex, UserError } from "../src/node.js";

const [folder, file] = process.argv.slice(2) as [string, string];
const { queries, vectors, texts, topK } = JSON.parse(readFileSync(file, "utf8")) as {
  queries: number[][];
  vectors: number[][];
  texts: string[];
  topK: number;
};
const rows = (given: number[][]) => given.map((row) => Float32Array.from(row));
try {
  const index = await loadIndex(folder);
  const built = Index.build(rows(vectors.slice(0, 1)), texts.slice(0, 1));
  for (let i = 1; i < texts.length; i++) built.add(rows(vectors.slice(i, i + 1)), texts.slice(i, i + 1));
  const found = rows(queries).map((query) => index.nearest(query, topK));
  console.log(JSON.stringify({ found, built: rows(queries).map((query) => built.nearest(query, topK)) }));
} catch (error) {
  if (!(error instanceof UserError)) throw error;
  console.log(JSON.stringify({ refused: error.message }));
}
