/** The page: its tabs, and the model that they share. */

import { about } from "./about.js";
import { classify } from "./classify.js";
import { h, megabytes } from "./dom.js";
import { faq } from "./faq.js";
import { match } from "./match.js";
import { measure } from "./measure.js";
import { openSite, type Site } from "./site.js";

interface Tab {
  id: string;
  name: string;
  make(site: Site): HTMLElement;
}

const MATCH: Tab = { id: "match", name: "Match", make: match };
const CLASSIFY: Tab = { id: "classify", name: "Classify", make: classify };
const FAQ: Tab = { id: "faq", name: "FAQ", make: faq };
const MEASURE: Tab = { id: "measure", name: "Measure", make: measure };
const ABOUT: Tab = { id: "about", name: "About", make: about };

const status = document.getElementById("status") as HTMLElement;
const list = document.getElementById("tabs") as HTMLElement;
const main = document.getElementById("main") as HTMLElement;

function say(text: string, bad = false): void {
  status.textContent = text;
  status.classList.toggle("bad", bad);
}

function tabsFor({ facts }: Site): Tab[] {
  if (facts.task === "text-classification") return [CLASSIFY, MEASURE, ABOUT];
  return facts.task === "text-matching" ? [MATCH, FAQ, MEASURE, ABOUT] : [FAQ, MEASURE, ABOUT];
}

function show(site: Site): void {
  const tabs = tabsFor(site);
  const panels = new Map<string, HTMLElement>();
  const buttons = tabs.map((tab) =>
    h("button", { id: `tab-${tab.id}`, role: "tab", type: "button", "aria-controls": `panel-${tab.id}`, onclick: () => choose(tab, true) }, tab.name),
  );
  const choose = (tab: Tab, remember: boolean) => {
    if (!panels.has(tab.id)) {
      const panel = h("section", { id: `panel-${tab.id}`, role: "tabpanel", "aria-labelledby": `tab-${tab.id}` }, tab.make(site));
      panels.set(tab.id, panel);
      main.append(panel);
    }
    for (const [id, panel] of panels) panel.hidden = id !== tab.id;
    buttons.forEach((button, i) => {
      const chosen = tabs[i] === tab;
      button.setAttribute("aria-selected", String(chosen));
      button.tabIndex = chosen ? 0 : -1;
    });
    if (remember) history.replaceState(null, "", `#${tab.id}`);
  };
  // As the ARIA practices for tabs say: one tab stop, arrows between the tabs.
  list.onkeydown = (event) => {
    const at = buttons.indexOf(document.activeElement as HTMLButtonElement);
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: buttons.length - 1 }[event.key];
    if (to === undefined || at < 0) return;
    event.preventDefault();
    const next = (to + buttons.length) % buttons.length;
    buttons[next]?.focus();
    choose(tabs[next] as Tab, true);
  };
  list.replaceChildren(...buttons);
  choose(tabs.find((tab) => `#${tab.id}` === location.hash) ?? (tabs[0] as Tab), false);
}

/** The service worker keeps the files for the next visit, so it must be there before they are asked for. */
async function keepOffline(): Promise<void> {
  if (!("serviceWorker" in navigator)) return;
  try {
    const ready = new Promise((resolve) => navigator.serviceWorker.addEventListener("controllerchange", resolve, { once: true }));
    await navigator.serviceWorker.register("service-worker.js");
    const patience = new Promise((resolve) => setTimeout(resolve, 4000));
    if (!navigator.serviceWorker.controller) await Promise.race([ready, patience]);
  } catch (error) {
    console.warn("works online only:", error); // such as in a private window
  }
}

async function start(): Promise<void> {
  await keepOffline();
  const site = await openSite(say);
  say(`${site.listed.name} · ${megabytes(site.listed.bytes)} · ready`);
  show(site);
  document.documentElement.dataset["ready"] = "true";
}

start().catch((error: unknown) => {
  say(error instanceof Error ? error.message : String(error), true);
  document.documentElement.dataset["ready"] = "failed";
});
