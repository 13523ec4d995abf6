/** Latency of the model in this browser, as a record to share; `mobilebert bench import` reads it. */

import { WorkerModel } from "../src/client.js";
import { facts as table, h } from "./dom.js";
import { WORKER, type Site } from "./site.js";

const MOST_THREADS = 4;
/** Warm-up goes on in rounds of a second until two medians are this near each other. */
const SETTLED = 0.04;
const MOST_ROUNDS = 10;
const STEADY_SECONDS = 5;

interface Backend {
  id: "wasm" | "threads" | "webgpu";
  name: string;
  threads: number;
  accelerator: "wasm" | "webgpu";
}

/** What the page writes; times in ms, each sample in its order. */
export interface WebRecord {
  runner: "web";
  artefact: string;
  checksums: string;
  seq_len: number;
  threads: number;
  backend: Backend["id"];
  cross_origin_isolated: boolean;
  started: string;
  browser: Record<string, string | number | boolean>;
  before: Power;
  after: Power;
  record: { runtime: string; init_ms: number; first_ms: number; warmup_ms: number[]; converged: boolean; steady_ms: number[] };
}

/** What the browser tells of power and heat; null where it does not. */
interface Power {
  charging: boolean | null;
  battery: number | null;
  /** The Compute Pressure API's word: nominal, fair, serious or critical. */
  pressure: string | null;
}

export function measure(site: Site): HTMLElement {
  const backends = backendsHere(site);
  const backend = h("select", { id: "backend" }, ...backends.map((one) => h("option", { value: one.id }, one.name)));
  const lengths = h("select", { id: "tokens" }, ...site.facts.buckets.map((length) => h("option", { value: String(length) }, `${length} tokens`)));
  lengths.value = String(site.facts.buckets.find((length) => length >= 32) ?? site.facts.buckets.at(-1));
  const state = h("p", { className: "small", role: "status", "aria-live": "polite" }, "About ten seconds. Leave the page open and in front.");
  const bar = h("progress", { max: STEADY_SECONDS, value: 0, hidden: true, "aria-label": "Measuring" });
  const result = h("div", { "aria-live": "polite" });
  const start = h("button", { type: "button", className: "main", onclick: () => void run() }, "Measure");

  async function run(): Promise<void> {
    const chosen = backends.find((one) => one.id === backend.value) as Backend;
    start.disabled = true;
    bar.hidden = false;
    bar.removeAttribute("value");
    try {
      const record = await measured(site, chosen, Number(lengths.value), (text) => (state.textContent = text));
      state.textContent = "";
      result.replaceChildren(shown(record));
    } catch (error) {
      state.textContent = (error as Error).message;
    } finally {
      start.disabled = false;
      bar.hidden = true;
    }
  }

  return h(
    "div",
    {},
    h(
      "div",
      { className: "card" },
      h("div", { className: "options" }, h("div", {}, h("label", { htmlFor: "backend" }, "Backend"), backend), h("div", {}, h("label", { htmlFor: "tokens" }, "Input"), lengths)),
      h("div", { className: "row" }, start),
      state,
      bar,
      crossOriginIsolated
        ? null
        : h("p", { className: "notice" }, "Thread count limited: the page is not cross-origin isolated. Load it once more, or serve it with the COOP and COEP headers."),
    ),
    result,
  );
}

function backendsHere({ facts }: Site): Backend[] {
  const onnx = facts.target === "onnx";
  const found: Backend[] = [{ id: "wasm", name: "WASM SIMD, 1 thread", threads: 1, accelerator: "wasm" }];
  const threads = Math.min(MOST_THREADS, navigator.hardwareConcurrency || 1);
  if (crossOriginIsolated && threads > 1) found.push({ id: "threads", name: `WASM SIMD, ${threads} threads`, threads, accelerator: "wasm" });
  if (!onnx && "gpu" in navigator) found.push({ id: "webgpu", name: "WebGPU", threads: 1, accelerator: "webgpu" });
  return found;
}

/** A worker of its own loads, warms up until two rounds agree, and measures. */
async function measured(site: Site, backend: Backend, seqLen: number, say: (text: string) => void): Promise<WebRecord> {
  const before = await power();
  const started = new Date().toISOString();
  const worker = new WorkerModel(new Worker(WORKER));
  try {
    say("Loading…");
    await worker.open(site.listed.folder, { threads: backend.threads, accelerator: backend.accelerator });
    const warmup: number[] = [];
    let converged = false;
    for (let round = 0, last = Number.NaN; round < MOST_ROUNDS && !converged; round++) {
      say(`Warming up, ${round + 1}…`);
      const times = await worker.measure(seqLen, 1);
      warmup.push(...times);
      const now = quantile(times, 0.5);
      converged = Math.abs(now - last) <= SETTLED * Math.min(now, last);
      last = now;
    }
    say("Measuring…");
    const steady = await worker.measure(seqLen, STEADY_SECONDS);
    return {
      runner: "web",
      artefact: site.listed.name,
      checksums: site.listed.checksums,
      seq_len: seqLen,
      threads: worker.facts.threads,
      backend: backend.id,
      cross_origin_isolated: crossOriginIsolated,
      started,
      browser: await browser(),
      before,
      after: await power(),
      record: { runtime: worker.facts.runtime, init_ms: worker.facts.initMs, first_ms: worker.facts.firstMs, warmup_ms: warmup, converged, steady_ms: steady },
    };
  } finally {
    worker.close();
  }
}

function shown(record: WebRecord): HTMLElement {
  const { steady_ms: steady, warmup_ms: warmup, init_ms, first_ms, runtime, converged } = record.record;
  const json = JSON.stringify(record, null, 1);
  const name = `${record.artefact}-${record.backend}-${record.seq_len}.json`;
  const figure = (value: string, what: string) => h("div", {}, h("b", {}, value), h("span", {}, what));
  const ms = (value: number) => (value < 10 ? value.toFixed(2) : value.toFixed(1));
  const save = () => {
    const address = URL.createObjectURL(new Blob([json], { type: "application/json" }));
    h("a", { href: address, download: name }).click();
    URL.revokeObjectURL(address);
  };
  const copy = h("button", { type: "button", className: "plain" }, "Copy");
  copy.onclick = () => void navigator.clipboard.writeText(json).then(() => (copy.textContent = "Copied"));
  const shared = new File([json], name, { type: "application/json" });
  const shares = navigator.canShare?.({ files: [shared] });
  return h(
    "div",
    { className: "card" },
    h("div", { className: "figures" }, figure(ms(quantile(steady, 0.5)), "ms, median"), figure(ms(quantile(steady, 0.9)), "ms, 9 of 10 below"), figure(String(steady.length), "inferences")),
    chart(steady),
    table([
      ["Runtime", `${runtime}, ${record.threads} thread${record.threads > 1 ? "s" : ""}`],
      ["Input", `${record.seq_len} tokens`],
      ["Load", `${(init_ms / 1000).toFixed(1)} s from the files' first byte; the first answer takes ${ms(first_ms)} ms`],
      ["Warm-up", `${warmup.length} inferences${converged ? "" : "; did not settle, so take the figures with care"}`],
      ["Power", told(record.before, record.after)],
    ]),
    h(
      "div",
      { className: "row", style: "margin-top:1rem" },
      h("button", { type: "button", className: "main", onclick: save }, "Save record"),
      copy,
      shares ? h("button", { type: "button", className: "plain", onclick: () => void navigator.share({ files: [shared] }) }, "Share") : null,
    ),
    h("details", { style: "margin-top:.8rem" }, h("summary", {}, "The record"), h("pre", { tabIndex: 0 }, json)),
  );
}

/** Every sample as a line of its height, from 0. */
function chart(samples: readonly number[]): SVGSVGElement {
  const most = Math.max(...samples);
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("class", "samples");
  svg.setAttribute("viewBox", "0 0 600 80");
  svg.setAttribute("preserveAspectRatio", "none");
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", `Each inference in its order, from ${Math.min(...samples).toFixed(1)} to ${most.toFixed(1)} ms`);
  const line = document.createElementNS("http://www.w3.org/2000/svg", "polyline");
  const step = 600 / Math.max(1, samples.length - 1);
  line.setAttribute("points", samples.map((ms, i) => `${(i * step).toFixed(1)},${(78 - (74 * ms) / most).toFixed(1)}`).join(" "));
  line.setAttribute("fill", "none");
  line.setAttribute("stroke", "currentColor");
  line.setAttribute("stroke-width", "2");
  line.setAttribute("vector-effect", "non-scaling-stroke");
  svg.append(line);
  return svg;
}

function quantile(values: readonly number[], part: number): number {
  const sorted = [...values].sort((one, other) => one - other);
  const at = part * (sorted.length - 1);
  const low = sorted[Math.floor(at)] ?? Number.NaN;
  return low + (at % 1) * ((sorted[Math.ceil(at)] ?? low) - low);
}

function told(before: Power, after: Power): string {
  if (before.battery === null && after.pressure === null) return "this browser does not tell of battery or heat";
  const battery = before.battery === null ? "" : `battery ${Math.round(100 * before.battery)}%${before.charging ? ", charging" : ""}`;
  const pressure = after.pressure ? `processor pressure ${after.pressure}` : "";
  return [battery, pressure].filter((one) => one).join("; ");
}

async function power(): Promise<Power> {
  const found: Power = { charging: null, battery: null, pressure: null };
  const wide = navigator as unknown as { getBattery?: () => Promise<{ charging: boolean; level: number }> };
  try {
    const battery = await wide.getBattery?.();
    if (battery) [found.charging, found.battery] = [battery.charging, battery.level];
    found.pressure = await pressure();
  } catch {
    // A browser that has the call may still refuse it.
  }
  return found;
}

interface PressureObserver {
  observe(source: "cpu", options: { sampleInterval: number }): Promise<void>;
  disconnect(): void;
}

/** The first state that the Compute Pressure API tells within a second. */
async function pressure(): Promise<string | null> {
  const Observer = (globalThis as unknown as { PressureObserver?: new (call: (records: { state: string }[]) => void) => PressureObserver }).PressureObserver;
  if (!Observer) return null;
  return new Promise((resolve) => {
    const observer = new Observer((records) => end(records.at(-1)?.state ?? null));
    const end = (state: string | null) => {
      clearTimeout(timer);
      observer.disconnect();
      resolve(state);
    };
    const timer = setTimeout(() => end(null), 1000);
    observer.observe("cpu", { sampleInterval: 200 }).catch(() => end(null));
  });
}

async function browser(): Promise<WebRecord["browser"]> {
  const wide = navigator as unknown as {
    deviceMemory?: number;
    userAgentData?: { mobile: boolean; platform: string; getHighEntropyValues(names: string[]): Promise<Record<string, string>> };
  };
  const told = await wide.userAgentData?.getHighEntropyValues(["model", "platformVersion", "architecture"]).catch(() => null);
  return {
    user_agent: navigator.userAgent,
    platform: wide.userAgentData?.platform ?? navigator.platform,
    mobile: wide.userAgentData?.mobile ?? /Mobi/.test(navigator.userAgent),
    cores: navigator.hardwareConcurrency || 0,
    ...(wide.deviceMemory ? { memory_gib: wide.deviceMemory } : {}),
    ...(told?.["model"] ? { model: told["model"] } : {}),
    ...(told?.["architecture"] ? { architecture: told["architecture"] } : {}),
  };
}
