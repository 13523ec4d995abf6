/** Reading what somebody else wrote: JSON fields of a known type and range. All faults are `ArtefactError`s. */

import { ArtefactError } from "./errors.js";

const MEBIBYTE = 1 << 20;
/** Largest size in bytes of each file that an artefact must have. */
const SIZES: Record<string, number> = {
  "io.json": MEBIBYTE,
  "recipe.json": MEBIBYTE,
  SHA256SUMS: MEBIBYTE,
  "vocab.txt": 32 * MEBIBYTE,
  "spelling.txt": 8 * MEBIBYTE,
  "tokenizer.json": 128 * MEBIBYTE,
};
const LARGEST = 2048 * MEBIBYTE;
/** Python's reader of io.json gives up at about a thousand levels, the one of tokenizer.json at 128. */
const DEEPEST = { card: 900, tokenizer: 127 };

export function largestSize(file: string): number {
  return SIZES[file] ?? LARGEST;
}

export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

/** UTF-8, with its ends of lines as they are; a byte-order mark is a character. */
export function decodeText(bytes: Uint8Array, where: string): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new ArtefactError(`${where}: is not UTF-8; export the artefact again`);
  }
}

export function parseJson(text: string, where: string, kind: keyof typeof DEEPEST): Json {
  let data: Json;
  try {
    data = JSON.parse(text) as Json;
  } catch (error) {
    throw new ArtefactError(`${where}: can't be read as JSON (${(error as Error).message.slice(0, 120)}); export the artefact again`);
  }
  if (deeper(data, DEEPEST[kind])) {
    throw new ArtefactError(`${where}: can't be read as JSON (it is too deep); export the artefact again`);
  }
  return data;
}

function deeper(data: Json, levels: number): boolean {
  let rows: Json[] = [data];
  for (let level = 0; rows.length; level++) {
    if (level > levels) return true;
    rows = rows.flatMap((one) => (one !== null && typeof one === "object" ? Object.values(one) : []));
  }
  return false;
}

/** Are two JSON values the same, whatever the order of their members? */
export function same(one: unknown, other: unknown): boolean {
  if (one === null || other === null || typeof one !== "object" || typeof other !== "object") return one === other;
  if (Array.isArray(one) !== Array.isArray(other)) return false;
  const names = Object.keys(one);
  return (
    names.length === Object.keys(other).length &&
    names.every((name) => Object.hasOwn(other, name) && same((one as any)[name], (other as any)[name]))
  );
}

export function describe(value: unknown): string {
  return JSON.stringify(value)?.slice(0, 60) ?? String(value);
}

/** As Python's `str.isprintable`: no separator but the space, nothing that has no sign. */
const PRINTABLE = /^(?:[^\p{C}\p{Z}]| )*$/u;

type Kind = "string" | "number" | "boolean" | "object" | "array" | "null";

function kindOf(value: Json): Kind {
  if (value === null) return "null";
  return Array.isArray(value) ? "array" : (typeof value as Kind);
}

/** The members of a JSON object, each taken with its type and range. */
export class Fields {
  readonly data: Record<string, Json>;

  constructor(
    data: Json | undefined,
    readonly where: string,
  ) {
    if (data === undefined || kindOf(data) !== "object") {
      throw this.fault(`has the wrong type: ${describe(data)}, not an object`);
    }
    this.data = data as Record<string, Json>;
  }

  fault(text: string): ArtefactError {
    return new ArtefactError(`${this.where}: ${text.slice(0, 300)}; export the artefact again`);
  }

  has(name: string): boolean {
    return Object.hasOwn(this.data, name);
  }

  /** Itself, without other members than these: a setting that is not known would be ignored. */
  only(...names: string[]): this {
    const unknown = Object.keys(this.data).find((name) => !names.includes(name));
    if (unknown !== undefined) throw this.fault(`field ${describe(unknown)} is not known to this version`);
    return this;
  }

  /** Is the member missing, or null? */
  lacks(name: string): boolean {
    return !this.has(name) || this.data[name] === null;
  }

  take(name: string, ...kinds: Kind[]): Json {
    if (!this.has(name)) throw this.fault(`field '${name}' is missing`);
    const value = this.data[name] as Json;
    if (!kinds.includes(kindOf(value))) throw this.fault(`field '${name}' has the wrong type (${describe(value)})`);
    return value;
  }

  integer(name: string, low: number, high: number): number {
    const value = this.take(name, "number") as number;
    if (!Number.isInteger(value)) throw this.fault(`field '${name}' has the wrong type (${value})`);
    if (!(low <= value && value <= high)) throw this.fault(`${name} ${value} is not from ${low} to ${high}`);
    return value;
  }

  number(name: string, low: number, high: number): number {
    const value = this.take(name, "number") as number;
    if (!(low <= value && value <= high)) throw this.fault(`${name} ${value} is not from ${low} to ${high}`);
    return value;
  }

  truth(name: string): boolean {
    return this.take(name, "boolean") as boolean;
  }

  anyText(name: string): string {
    return this.take(name, "string") as string;
  }

  /** A printable text of one character or more. */
  text(name: string, longest = 64): string {
    const value = this.anyText(name);
    if (!PRINTABLE.test(value) || !value.trim() || [...value].length > longest) {
      throw this.fault(`${name} ${describe(value)} is not a text of 1 to ${longest} printable characters`);
    }
    return value;
  }

  array(name: string, most: number): Json[] {
    const values = this.take(name, "array") as Json[];
    if (values.length > most) throw this.fault(`${name} has ${values.length} entries, more than ${most}`);
    return values;
  }

  /** A list of different texts. */
  texts(name: string, least: number, most: number): string[] {
    const values = this.take(name, "array") as Json[];
    if (!(least <= values.length && values.length <= most)) {
      throw this.fault(`${name} ${describe(values)} can't be: ${least} to ${most} are expected`);
    }
    const found = values.map((value) => new Fields({ [name]: value }, this.where).text(name, 200));
    if (new Set(found).size < found.length) throw this.fault(`${name} ${describe(values)} are not all different`);
    return found;
  }

  numbers(name: string, low: number, high: number): number[] {
    const values = (this.take(name, "array") as Json[]).slice(0, 64);
    return values.map((value) => new Fields({ [name]: value }, this.where).number(name, low, high));
  }

  object(name: string): Fields {
    return new Fields(this.take(name, "object"), this.where);
  }

  objects(name: string, most: number): Fields[] {
    return this.array(name, most).map((value) => new Fields(value, `${this.where}: ${name}`));
  }
}
