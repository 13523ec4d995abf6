/** Texts as vectors, and the search for the texts of an index that lie nearest. */

import type { Card } from "./card.js";
import { ArtefactError } from "./errors.js";
import type { Hit } from "./matcher.js";
import { ArtefactModel, wrongTask, type Opened } from "./model.js";
import { OUTPUT } from "./network.js";
import { checkTexts } from "./texts.js";
import { Index } from "./vector_index.js";

/** A sentence encoder; it also opens a matcher whose network returns the vector of its first text. */
export class Embedder extends ArtefactModel {
  constructor(opened: Opened) {
    super(opened);
    if (!Embedder.reads(this.card)) throw wrongTask(this.card, "sentence-embedding");
  }

  static reads(card: Card): boolean {
    return card.embedding !== null;
  }

  /** The vectors of a model that returns them, on the network that it has loaded. */
  static of(model: ArtefactModel): Embedder {
    return new Embedder((model as unknown as { opened: Opened }).opened);
  }

  /** Length of a vector. */
  get size(): number {
    return this.card.embedding?.size ?? 0;
  }

  /** A vector of each text; one that is longer than `card.seqLen` tokens is truncated. */
  async embed(texts: readonly string[]): Promise<Float32Array[]> {
    checkTexts(texts, 1);
    return this.runRows(this.encode(texts), OUTPUT.embedding);
  }

  /** An index in int8 of texts for `search`; it knows what made it. */
  async index(texts: readonly string[]): Promise<Index> {
    return Index.build(await this.embed(texts), texts, this.fingerprint);
  }

  /** The texts of the index with the highest cosine to the query, the highest first. */
  async search(query: string, index: Index, topK = 10): Promise<Hit[]> {
    if (index.encoder === null) throw new ArtefactError("the index does not say what made it; build it again with Embedder.index");
    if (index.encoder !== this.fingerprint) {
      throw new ArtefactError("the index was made by another artefact, or with other words or spelling; build it again");
    }
    const [vector] = await this.embed([query]);
    return index.nearest(vector as Float32Array, topK);
  }
}
