/** Texts and pairs of texts as users give them: what is refused, and what a reader calls one and the same. */

import { DataError } from "./errors.js";

/** What is left of a character that was cut in two. */
const HALF = /\p{Surrogate}/u;
/** Nothing but white space, as Python's `str.isspace` has it. */
const BLANK = /^[\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]*$/;
/** Marks that writers of Latin, Greek and Cyrillic leave away at times, the choice of a sign's form, and what shows nothing. */
const UNSEEN = /[\u0300-\u036f\ufe00-\ufe0f\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]|\p{C}/gu;

/** Refuses what is not a list of texts, or of pairs of texts, and half of a character that was cut in two. */
export function checkTexts(given: unknown, texts: 1 | 2): void {
  const what = texts === 1 ? "a text" : "a pair of texts";
  if (!Array.isArray(given)) throw new DataError(`give a list with ${what} in each entry`);
  given.forEach((one: unknown, number) => {
    const parts: unknown[] = texts === 1 ? [one] : Array.isArray(one) ? one : [];
    if (parts.length !== texts || !parts.every((part) => typeof part === "string")) {
      throw new DataError(`entry ${number + 1} is not ${what}`);
    }
    if (parts.some((part) => HALF.test(part as string))) {
      throw new DataError(`entry ${number + 1} holds half a surrogate pair; give the whole text, or leave that character out`);
    }
  });
}

/** Refuses a pair with a text of nothing but white space: no score says anything of it. */
export function refuseEmpty(pairs: readonly (readonly string[])[]): void {
  pairs.forEach((pair, number) => {
    const which = pair.findIndex(isBlank);
    if (which < 0) return;
    throw new DataError(`entry ${number + 1}: its ${which ? "second" : "first"} text is empty; leave the pair out`);
  });
}

/** Is a text nothing but white space? */
export function isBlank(text: string): boolean {
  return BLANK.test(text);
}

/** Are two texts one and the same but for case, accents, white space and characters that show nothing? */
export function readAsOne(a: string, b: string): boolean {
  return plain(a) === plain(b);
}

/** Upper case first: it folds what has several lower cases, as Python's `casefold` does. */
function plain(text: string): string {
  return text.normalize("NFKD").toUpperCase().toLowerCase().replace(UNSEEN, "");
}
