/** An index of texts by their vectors: rows of int8 or float16, and the texts. Reads the folder that Python writes. */

import { decodeText, Fields, largestSize, parseJson, type Json } from "./checked.js";
import { ArtefactError, DataError } from "./errors.js";
import { readChecked, type Folder } from "./folder.js";
import { best, type Hit } from "./matcher.js";
import { readNpy } from "./npy.js";

const VECTORS = "vectors.npy";
const SCALES = "scales.npy";
const TEXTS = "texts.jsonl";
const ABOUT = "index.json";
/** The format of index.json that this package reads. */
const FORMAT = 1;

export class Index {
  /**
   * @param texts of the rows
   * @param size of a vector
   * @param rows int8 numbers, or float16 ones as float32, row by row; there may be room for more than are used
   * @param scales of int8 rows: a row is its scale times its numbers
   * @param encoder fingerprint of the artefact that made the vectors; null where that is not known
   */
  private constructor(
    readonly texts: string[],
    readonly size: number,
    private rows: Int8Array | Float32Array,
    private scales: Float32Array | null,
    readonly encoder: string | null,
  ) {}

  /**
   * An index in int8 of vectors and their texts. More can be added.
   *
   * @param encoder `fingerprint` of the artefact that made the vectors; `Embedder.search` asks for it
   */
  static build(vectors: readonly Float32Array[], texts: readonly string[], encoder: string | null = null): Index {
    const size = vectors[0]?.length;
    if (!size) throw new DataError("an index needs a vector and its text at least");
    const index = new Index([], size, new Int8Array(0), new Float32Array(0), encoder);
    index.add(vectors, texts);
    return index;
  }

  /** Adds vectors and their texts to an index in int8. */
  add(vectors: readonly Float32Array[], texts: readonly string[]): void {
    if (!this.scales) throw new DataError("an index in float16 takes no more texts; build one in int8");
    if (vectors.length !== texts.length) throw new DataError(`${texts.length} texts for ${vectors.length} vectors; give one of each`);
    const count = this.texts.length;
    this.grow(count + vectors.length);
    const [rows, scales] = [this.rows, this.scales];
    vectors.forEach((vector, i) => {
      if (vector.length !== this.size) throw new DataError(`a vector has ${vector.length} numbers, the others have ${this.size}`);
      const unit = normalized(vector, "a vector");
      const scale = Math.fround(unit.reduce((most, one) => Math.max(most, Math.abs(one)), 0) / 127);
      scales[count + i] = scale;
      unit.forEach((one, at) => (rows[(count + i) * this.size + at] = roundEven(Math.fround(one / scale))));
    });
    this.texts.push(...texts);
  }

  /** Makes room for so many rows; twice as many each time, so that adding one by one takes no longer. */
  private grow(count: number): void {
    if (!this.scales || count <= this.scales.length) return;
    const room = Math.max(count, 2 * this.scales.length);
    const rows = new Int8Array(room * this.size);
    const scales = new Float32Array(room);
    rows.set(this.rows);
    scales.set(this.scales);
    this.rows = rows;
    this.scales = scales;
  }

  /** The texts with the highest cosine to a vector, the highest first. */
  nearest(vector: Float32Array, topK = 10): Hit[] {
    if (!(topK >= 1)) throw new DataError(`the ${topK} nearest texts can't be; give 1 or more`);
    if (vector.length !== this.size) throw new DataError(`the query's vector has ${vector.length} numbers; the texts' have ${this.size}`);
    const query = normalized(vector, "the query's vector");
    const scores = new Float32Array(this.texts.length);
    for (let row = 0; row < scores.length; row++) {
      let sum = 0;
      for (let i = 0, at = row * this.size; i < this.size; i++, at++) sum += (this.rows[at] as number) * (query[i] as number);
      const cosine = this.scales ? Math.fround(sum) * (this.scales[row] as number) : sum;
      scores[row] = Math.min(1, Math.max(-1, cosine)); // rounded rows may be longer than 1 by a little
    }
    return best(scores, this.texts, topK);
  }

  /** Reads the folder that Python's `Index.save` wrote. */
  static async read(folder: Folder): Promise<Index> {
    const { files } = await readChecked(folder, [VECTORS, TEXTS, ABOUT], undefined, "build the index again");
    const at = (file: string) => `${folder.name}/${file}`;
    const vectors = readNpy(files.get(VECTORS) as Uint8Array, at(VECTORS), ["int8", "float16"], 2);
    let scales: Float32Array | null = null;
    if (vectors.dtype === "int8") {
      const bytes = files.get(SCALES);
      if (!bytes) throw new ArtefactError(`${folder.name}: SHA256SUMS does not list ${SCALES}; build the index again`);
      scales = readNpy(bytes, at(SCALES), ["float32"], 1).data as Float32Array;
    }
    const texts = readTexts(files.get(TEXTS) as Uint8Array, at(TEXTS));
    const [count = 0, size = 0] = vectors.shape;
    for (const [found, what] of [[texts.length, "texts"], [scales?.length ?? count, "scales"]] as const) {
      if (found !== count) throw new ArtefactError(`${folder.name}: ${found} ${what} for ${count} vectors; build the index again`);
    }
    const encoder = readEncoder(files.get(ABOUT) as Uint8Array, at(ABOUT));
    return new Index(texts, size, vectors.data as Int8Array | Float32Array, scales, encoder);
  }
}

function readEncoder(bytes: Uint8Array, where: string): string | null {
  const about = new Fields(parseJson(decodeText(bytes, where), where, "card"), where);
  if (about.integer("format", 0, Number.MAX_SAFE_INTEGER) !== FORMAT) {
    throw new ArtefactError(`${where}: is of another format than ${FORMAT}; build the index again`);
  }
  return about.take("encoder", "string", "null") === null ? null : about.text("encoder");
}

function readTexts(bytes: Uint8Array, where: string): string[] {
  if (bytes.length > largestSize(TEXTS)) throw new ArtefactError(`${where}: is too large; build the index again`);
  const lines = decodeText(bytes, where).split("\n").slice(0, -1);
  return lines.map((line) => {
    let text: Json = null;
    try {
      text = JSON.parse(line) as Json;
    } catch {
      text = null;
    }
    if (typeof text !== "string") throw new ArtefactError(`${where}: holds what is no text; build the index again`);
    return text;
  });
}

function normalized(vector: Float32Array, what: string): Float32Array {
  const length = Math.sqrt(vector.reduce((sum, one) => sum + one * one, 0));
  if (!(Number.isFinite(length) && length)) throw new DataError(`${what} is zero or not finite, so it has no direction`);
  return vector.map((one) => one / length);
}

/** As numpy's `rint`: a half goes to the even number. */
function roundEven(value: number): number {
  const floor = Math.floor(value);
  const above = value - floor;
  return above > 0.5 || (above === 0.5 && floor % 2 !== 0) ? floor + 1 : floor;
}
