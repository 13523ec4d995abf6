/** Special tokens around texts: "[CLS]", "$A", "[SEP]", "$B:1", "[SEP]:1". */

import { describe, type Fields, Fields as Members } from "./checked.js";

const MOST_SPECIALS = 8;

export interface TemplateItem {
  /** A special token, or one of the texts $A and $B. */
  name: string;
  /** Token type. */
  type: number;
}
export type Template = readonly TemplateItem[];

function isText(name: string): boolean {
  return name === "$A" || name === "$B";
}

/** Reads the items of a card's template, which must hold these texts once and in this order. */
export function readTemplate(fields: Fields, name: string, texts: string[]): Template {
  const values = fields.array(name, MOST_SPECIALS + 2);
  const items = values.map((value) => splitItem(new Members({ [name]: value }, fields.where).text(name, 200)));
  const held = items.filter((item) => isText(item.name)).map((item) => item.name);
  if (held.join() !== texts.join()) {
    throw fields.fault(`template ${name} ${describe(values)} does not hold ${texts.join(" and ")}`);
  }
  if (items.length > texts.length + MOST_SPECIALS) {
    throw fields.fault(`template ${name} has more than ${MOST_SPECIALS} special tokens`);
  }
  return items;
}

function splitItem(item: string): TemplateItem {
  const found = /^(.+):([01])$/su.exec(item);
  return found ? { name: found[1] as string, type: Number(found[2]) } : { name: item, type: 0 };
}

/** One encoded input: token ids and types, unpadded. */
export interface Encoded {
  ids: number[];
  types: number[];
}

/** A template with its special tokens as ids. */
export class TemplateIds {
  /** Number of special tokens. */
  readonly size: number;

  /** @param parts a special token's id or "A" or "B", with its token type */
  constructor(readonly parts: readonly { id: number | "A" | "B"; type: number }[]) {
    this.size = parts.filter((part) => typeof part.id === "number").length;
  }

  /** Special tokens before the first text of a pair, and between both. */
  get specials(): [number, number] {
    const [a, b] = [this.parts.findIndex((part) => part.id === "A"), this.parts.findIndex((part) => part.id === "B")];
    return [a, b - a - 1];
  }

  /** @param id of a special token by its name; `undefined` where there is none */
  static of(template: Template, id: (name: string) => number | undefined): TemplateIds | null {
    const parts = template.map(({ name, type }) => ({
      id: isText(name) ? (name.slice(1) as "A" | "B") : id(name),
      type,
    }));
    if (parts.some((part) => part.id === undefined)) return null;
    return new TemplateIds(parts as { id: number | "A" | "B"; type: number }[]);
  }

  equals(other: TemplateIds): boolean {
    return JSON.stringify(this.parts) === JSON.stringify(other.parts);
  }

  fill(a: readonly number[], b: readonly number[] = []): Encoded {
    const ids: number[] = [];
    const types: number[] = [];
    for (const { id, type } of this.parts) {
      const tokens = id === "A" ? a : id === "B" ? b : [id];
      for (const token of tokens) {
        ids.push(token);
        types.push(type);
      }
    }
    return { ids, types };
  }
}
