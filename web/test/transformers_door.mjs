/** node transformers_door.mjs FOLDER INPUTS.json: transformers.js on an export of `--layout transformers`. */

import { readFileSync } from "node:fs";
import path from "node:path";
import { AutoModelForSequenceClassification, AutoTokenizer, env, pipeline } from "@huggingface/transformers";

const [folder, inputs] = process.argv.slice(2);
const { texts, pairs, dtype, embeds } = JSON.parse(readFileSync(inputs, "utf8"));
env.allowRemoteModels = false;
env.localModelPath = path.dirname(path.resolve(folder));
const name = path.basename(path.resolve(folder));
const found = { vectors: null, logits: null, ids: null, types: null };
if (embeds) {
  const embed = await pipeline("feature-extraction", name, { dtype });
  found.vectors = (await embed(texts, { pooling: "mean", normalize: true })).tolist();
}
if (pairs.length) {
  const tokenizer = await AutoTokenizer.from_pretrained(name);
  const model = await AutoModelForSequenceClassification.from_pretrained(name, { dtype });
  const first = pairs.map(([a]) => a);
  const encoded = await tokenizer(first, { text_pair: pairs.map(([, b]) => b), padding: true, truncation: true });
  const numbers = (tensor) => tensor.tolist().map((row) => row.map(Number));
  found.ids = numbers(encoded.input_ids);
  found.types = numbers(encoded.token_type_ids);
  found.logits = (await model(encoded)).logits.tolist();
}
console.log(JSON.stringify(found));
