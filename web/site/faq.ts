/** Questions of one's own, pasted or dropped; searched as one types, while the worker still reads them. */

import type { Hit } from "../src/matcher.js";
import { readEntries, type Entry } from "./csv.js";
import { after, h } from "./dom.js";
import type { Site } from "./site.js";

const SHOWN = 5;
/** Without vectors every text is compared: no more than so many. */
const MOST_COMPARED = 200;
/** Characters of a dropped file that the field shows: the layout of a large one would hold the page up. */
const MOST_SHOWN = 2000;
const SAMPLE = `question,answer
How do I reset my password?,"Open Settings, choose Account, then Reset password."
Can I change my delivery address?,"Yes, until the parcel has left our warehouse."
When will my order arrive?,"Within three working days; the e-mail has a tracking link."
How do I return something that does not fit?,"Print the label from your order and bring the parcel to any post office."
Do you ship to other countries?,We ship to all of Europe.
How can I pay?,"By card, by transfer or on invoice."
Is my data shared with anybody?,No. We keep what the law asks for.
How do I cancel my subscription?,"Account, Subscription, Cancel. It ends with the month that is paid."`;

export function faq({ model, facts }: Site): HTMLElement {
  let entries: Entry[] = [];
  /** A dropped file of which the field shows a part, as long as nobody types there. */
  let whole: string | null = null;
  let latest = 0;
  const count = h("p", { className: "small", role: "status" });
  const bar = h("progress", { max: 1, value: 0, hidden: true, "aria-label": "Texts read" });
  const query = h("input", { type: "search", id: "query", autocomplete: "off", placeholder: "How can I get a new password?" });
  const hits = h("ol", { className: "hits", "aria-live": "polite", "aria-label": "Nearest questions" });
  const paste = h("textarea", { id: "faq-text", rows: 5, value: SAMPLE });
  const file = h("input", { type: "file", accept: ".csv,.tsv,.txt", hidden: true });
  const later = after(120, () => void search());

  async function read(text: string): Promise<void> {
    entries = readEntries(text);
    if (!facts.embeds && entries.length > MOST_COMPARED) entries = entries.slice(0, MOST_COMPARED);
    hits.replaceChildren();
    const total = entries.length;
    count.textContent = total ? "" : "No lines yet: paste some, or drop a file.";
    if (!total) return;
    if (!facts.embeds) {
      count.textContent = `${total} lines; this model compares each of them, up to ${MOST_COMPARED}.`;
      return search();
    }
    const mine = entries;
    const start = performance.now();
    let next = 8;
    bar.hidden = false;
    bar.max = total;
    try {
      const made = await model.index(mine.map((entry) => entry.question), (done) => {
        if (mine !== entries) return;
        bar.value = done;
        count.textContent = `${done.toLocaleString("en")} of ${total.toLocaleString("en")} lines read; search now, the rest follows.`;
        // What was asked before is asked again as more is read: at 8 lines, 16, 32, …
        if (done >= next) {
          next *= 2;
          void search();
        }
      });
      if (!made) return;
      const seconds = (performance.now() - start) / 1000;
      count.textContent = `${total.toLocaleString("en")} lines read in ${seconds < 10 ? seconds.toFixed(1) : seconds.toFixed(0)} s.`;
      bar.hidden = true;
      await search();
    } catch (error) {
      count.textContent = (error as Error).message;
    }
  }

  async function search(): Promise<void> {
    const mine = ++latest;
    const asked = query.value.trim();
    if (!asked || !entries.length) return hits.replaceChildren();
    try {
      const found = facts.embeds ? await model.search(asked, SHOWN) : await model.rank(asked, entries.map((entry) => entry.question), SHOWN);
      if (mine === latest) hits.replaceChildren(...found.map(row));
    } catch (error) {
      count.textContent = (error as Error).message;
    }
  }

  function row({ place, score, text }: Hit): HTMLElement {
    const decides = facts.task === "text-matching";
    const yes = decides && score >= facts.threshold;
    return h(
      "li",
      {},
      h("span", { className: yes ? "score yes" : "score", title: decides ? "probability" : "cosine" }, decides ? `${Math.round(100 * score)}%` : score.toFixed(2)),
      h("span", {}, text),
      entries[place]?.answer ? h("span", { className: "answer" }, entries[place].answer) : null,
    );
  }

  async function take(given: File | undefined): Promise<void> {
    if (!given) return;
    const text = await given.text();
    whole = text;
    paste.value = text.length > MOST_SHOWN ? `${text.slice(0, MOST_SHOWN)}\n… (${given.name}, shown in part)` : text;
    await read(text);
  }

  const drop = h(
    "div",
    { className: "card drop" },
    h("label", { htmlFor: "faq-text" }, "Questions, one a line; a second column is shown as the answer"),
    paste,
    h(
      "div",
      { className: "row", style: "margin-top:.7rem" },
      h("button", { type: "button", className: "main", onclick: () => void read(whole ?? paste.value) }, "Read these lines"),
      h("button", { type: "button", className: "plain", onclick: () => file.click() }, "Open a file…"),
      file,
      h("span", { className: "small" }, "CSV, TSV or text. It stays in this browser."),
    ),
  );
  drop.addEventListener("dragover", (event) => {
    event.preventDefault();
    drop.dataset["over"] = "true";
  });
  drop.addEventListener("dragleave", () => delete drop.dataset["over"]);
  drop.addEventListener("drop", (event) => {
    event.preventDefault();
    delete drop.dataset["over"];
    void take(event.dataTransfer?.files[0]);
  });
  file.addEventListener("change", () => void take(file.files?.[0]));
  paste.addEventListener("input", () => (whole = null));
  query.addEventListener("input", later);
  void read(SAMPLE);
  return h(
    "div",
    {},
    h("div", { className: "card" }, h("label", { htmlFor: "query" }, "Ask"), query, count, bar, hits),
    drop,
  );
}
