/** Two texts, and whether they say the same, as one types. */

import { after, h } from "./dom.js";
import type { Site } from "./site.js";

const EXAMPLES: [name: string, a: string, b: string][] = [
  ["Other words", "How do I learn to swim?", "What is the best way to learn swimming?"],
  ["Another question", "How old is the Moon?", "How far away is the Moon?"],
  ["Another number", "The fee is 5% of the sum.", "The fee is 0.5% of the sum."],
];
const PAUSE_MS = 90;

export function match({ model, facts }: Site): HTMLElement {
  const field = (id: string, label: string, value: string) => {
    const area = h("textarea", { id, rows: 2, value, spellcheck: true, autocapitalize: "sentences" });
    area.addEventListener("input", later);
    return { area, whole: h("div", {}, h("label", { htmlFor: id }, label), area) };
  };
  const number = h("span", { className: "number" }, "–");
  const label = h("span", { className: "label" });
  const bar = h("i");
  const probability = facts.threshold >= 0 && facts.threshold <= 1;
  const gauge = h("div", { className: "gauge", "aria-hidden": "true", hidden: !probability }, bar, h("b"));
  gauge.style.setProperty("--threshold", String(facts.threshold));
  const verdict = h("div", { className: "verdict", role: "status", "aria-live": "polite" }, number, label, gauge);
  const time = h("p", { className: "small" });
  const later = after(PAUSE_MS, () => void decide());
  const first = field("text-a", "First text", EXAMPLES[0]?.[1] ?? "");
  const second = field("text-b", "Second text", EXAMPLES[0]?.[2] ?? "");
  let latest = 0;

  async function decide(): Promise<void> {
    const mine = ++latest;
    const [a, b] = [first.area.value.trim(), second.area.value.trim()];
    if (!a || !b) {
      number.textContent = "–";
      label.textContent = "";
      delete verdict.dataset["said"];
      bar.style.setProperty("--value", "0");
      return;
    }
    const start = performance.now();
    try {
      const [score = 0] = await model.score([[a, b]], true);
      if (mine !== latest) return;
      const positive = score >= facts.threshold;
      const other = facts.labels.length === 2 ? facts.labels[1 - facts.positive] : `not ${facts.labels[facts.positive]}`;
      number.textContent = probability ? `${Math.round(100 * score)}%` : score.toFixed(2);
      label.textContent = (positive ? facts.labels[facts.positive] : other) ?? "";
      verdict.dataset["said"] = positive ? "yes" : "no";
      bar.style.setProperty("--value", String(Math.max(0, Math.min(1, score))));
      time.textContent = `${(performance.now() - start).toFixed(0)} ms in this browser. The line marks where the answer turns.`;
    } catch (error) {
      label.textContent = (error as Error).message;
    }
  }

  const chips = EXAMPLES.map(([name, a, b]) =>
    h(
      "button",
      {
        type: "button",
        className: "chip",
        onclick: () => {
          first.area.value = a;
          second.area.value = b;
          void decide();
        },
      },
      name,
    ),
  );
  void decide();
  return h(
    "div",
    {},
    h("div", { className: "card" }, h("div", { className: "pair" }, first.whole, second.whole), verdict, time),
    h("div", { className: "chips", role: "group", "aria-label": "Examples" }, ...chips),
  );
}
