/**
 * node node_index.js INDEX ASKED.json: what an index of Python's finds, beside one that is made here, or the refusal.
 *
 * ASKED holds `queries` and the `vectors` and `texts` of the index, or an `artefact` whose `search` answers `texts`.
 */

import { readFileSync } from "node:fs";
import { Embedder, Index, load, loadIndex, UserError } from "../src/node.js";

interface Asked {
  artefact?: string;
  queries: number[][];
  vectors: number[][];
  texts: string[];
  topK: number;
}

const rows = (given: number[][]) => given.map((row) => Float32Array.from(row));

function nearest(index: Index, { queries, vectors, texts, topK }: Asked): object {
  const built = Index.build(rows(vectors.slice(0, 1)), texts.slice(0, 1));
  for (let i = 1; i < texts.length; i++) built.add(rows(vectors.slice(i, i + 1)), texts.slice(i, i + 1));
  const find = (one: Index) => rows(queries).map((query) => one.nearest(query, topK));
  return { found: find(index), built: find(built) };
}

async function searched(index: Index, artefact: string, { texts, topK }: Asked): Promise<object> {
  const embedder = Embedder.of(await load(artefact));
  const built = await embedder.index(texts);
  const find = (one: Index) => Promise.all(texts.map((text) => embedder.search(text, one, topK)));
  return { found: await find(index), built: await find(built), encoder: built.encoder };
}

const [folder, file] = process.argv.slice(2) as [string, string];
const asked = JSON.parse(readFileSync(file, "utf8")) as Asked;
try {
  const index = await loadIndex(folder);
  const said = asked.artefact ? await searched(index, asked.artefact, asked) : nearest(index, asked);
  console.log(JSON.stringify(said));
} catch (error) {
  if (!(error instanceof UserError)) throw error;
  console.log(JSON.stringify({ refused: error.message }));
}
process.exit(0);
