/**
 * Several pairs with the same first text in one input: `[CLS] query [SEP] [CLS] text 1 [SEP] …`.
 *
 * An embedding matcher lets each text attend to itself alone, so that a query which is compared with many texts can be
 * read once with several of them. Token types number the texts, 0 is the query.
 */

import type { Encoded } from "./template.js";

/** Tokens of one packed input, and how many texts the query is compared with at most. */
export interface PackedShape {
  seqLen: number;
  texts: number;
}

/**
 * Which pairs run packed, and how: the places of their rows, and the packed input.
 *
 * Pairs whose buckets have no more tokens together than a packed input are left out: they take less time one by one.
 *
 * @param bucket tokens → the sequence length at which an input of so many tokens runs by itself
 */
export function plan(
  rows: readonly Encoded[],
  shape: PackedShape,
  bucket: (tokens: number) => number,
): { places: number[]; packed: Encoded }[] {
  const byQuery = new Map<string, number[]>();
  rows.forEach((row, place) => {
    const key = queryOf(row).join();
    byQuery.set(key, [...(byQuery.get(key) ?? []), place]);
  });
  const found: { places: number[]; packed: Encoded }[] = [];
  for (const places of byQuery.values()) {
    const query = queryOf(rows[places[0] as number] as Encoded);
    for (const pack of fill(query.length, places, rows, shape)) {
      const alone = pack.reduce((sum, place) => sum + bucket((rows[place] as Encoded).ids.length), 0);
      if (alone > shape.seqLen) found.push({ places: pack, packed: join(query, pack.map((place) => rows[place] as Encoded)) });
    }
  }
  return found;
}

function queryOf(row: Encoded): number[] {
  return row.ids.slice(0, row.types.filter((type) => type === 0).length);
}

/** Places of one query's rows in few inputs: the longest first, each into the first with room. */
function fill(query: number, places: readonly number[], rows: readonly Encoded[], shape: PackedShape): number[][] {
  const length = (place: number) => (rows[place] as Encoded).ids.length - query;
  const packs: { places: number[]; room: number }[] = [];
  for (const place of [...places].sort((one, other) => length(other) - length(one))) {
    let pack = packs.find((one) => one.room >= length(place) && one.places.length < shape.texts);
    if (!pack) packs.push((pack = { places: [], room: shape.seqLen - query }));
    pack.places.push(place);
    pack.room -= length(place);
  }
  return packs.map((pack) => pack.places);
}

function join(query: readonly number[], rows: readonly Encoded[]): Encoded {
  const ids = [...query];
  const types = query.map(() => 0);
  rows.forEach((row, number) => {
    for (const id of row.ids.slice(query.length)) {
      ids.push(id);
      types.push(number + 1);
    }
  });
  return { ids, types };
}
