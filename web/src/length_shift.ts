/** The length prior taken out of a score: two word counts, three cuts, four numbers (Jiang et al. 2022, Eq. 1 and 2). */

const CATEGORIES = 4;
/** White space as Python's `str.split` knows it. */
const SPACES = /[\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+/;

export class LengthShift {
  /**
   * @param quartiles of |words(a) − words(b)| / min(words(a), words(b)) on the training pairs, ascending
   * @param added to the log-odds of the positive label, after the temperature, by category of the pair
   * @throws RangeError not three ascending quartiles, or not four numbers to add
   */
  constructor(
    readonly quartiles: readonly number[],
    readonly added: readonly number[],
  ) {
    const ascending = quartiles.every((one, i) => i === 0 || one >= (quartiles[i - 1] as number));
    if (quartiles.length !== CATEGORIES - 1 || !ascending) throw new RangeError("quartiles are not three ascending numbers");
    if (added.length !== CATEGORIES) throw new RangeError(`${added.length} numbers to add for ${CATEGORIES} categories`);
  }

  /** What to add for a pair; 0 where a text has no words. */
  of(a: string, b: string): number {
    const [wordsA, wordsB] = [words(a), words(b)];
    const shorter = Math.min(wordsA, wordsB);
    if (!shorter) return 0;
    const divergence = Math.abs(wordsA - wordsB) / shorter;
    // A value equal to a quartile belongs to the category below it.
    const category = this.quartiles.findIndex((quartile) => divergence <= quartile);
    return this.added[category < 0 ? CATEGORIES - 1 : category] as number;
  }
}

function words(text: string): number {
  return text.split(SPACES).filter((word) => word).length;
}
