/** A text, or two, and the scores of its labels as one types. */

import { after, h } from "./dom.js";
import type { Site } from "./site.js";

const SHOWN = 5;

export function classify({ model, facts }: Site): HTMLElement {
  const areas = Array.from({ length: facts.texts }, (_, i) => h("textarea", { id: `text-${i}`, rows: 3 }));
  const out = h("ol", { className: "hits", "aria-live": "polite" });
  let latest = 0;
  const later = after(90, () => void decide());
  async function decide(): Promise<void> {
    const mine = ++latest;
    const texts = areas.map((area) => area.value.trim());
    if (texts.some((text) => !text)) return out.replaceChildren();
    try {
      const [scores = []] = await model.classify([texts.length === 1 ? (texts[0] as string) : [texts[0] as string, texts[1] as string]]);
      if (mine !== latest) return;
      const rows = scores.slice(0, SHOWN).map(({ label, score }, i) =>
        h("li", {}, h("span", { className: i ? "score" : "score yes" }, score.toFixed(2)), h("span", {}, label)),
      );
      out.replaceChildren(...rows);
    } catch (error) {
      out.replaceChildren(h("li", {}, h("span"), h("span", {}, (error as Error).message)));
    }
  }
  for (const area of areas) area.addEventListener("input", later);
  const name = (i: number) => (areas.length === 1 ? "Text" : `Text ${i + 1}`);
  const fields = areas.map((area, i) => h("div", {}, h("label", { htmlFor: area.id }, name(i)), area));
  return h("div", { className: "card" }, ...fields, out);
}
