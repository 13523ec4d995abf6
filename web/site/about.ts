/** What is on this page, and under which licences. */

import { facts as table, h, megabytes } from "./dom.js";
import type { Site } from "./site.js";

const PARTS: [string, string, string][] = [
  ["LiteRT.js", "runs .tflite files", "Apache-2.0"],
  ["ONNX Runtime Web", "runs .onnx files", "MIT"],
  ["Tokenizers.js", "splits texts into tokens", "Apache-2.0"],
  ["mobilebert-runtime", "this page", "Apache-2.0"],
];

export function about({ listed, facts, models, loadedBytes, loadedMs, version }: Site): HTMLElement {
  const choice = h("select", { id: "model", onchange: () => location.assign(`?model=${encodeURIComponent(choice.value)}${location.hash}`) });
  choice.append(...models.map((one) => h("option", { value: one.name, selected: one === listed }, `${one.name} (${megabytes(one.bytes)})`)));
  return h(
    "div",
    {},
    h(
      "div",
      { className: "card" },
      h("p", { style: "margin-top:0" }, "The network runs in this browser. No text leaves the device, and the page asks no other site for anything; after the first visit it works offline, and can be installed from the browser's menu."),
      models.length > 1 ? h("div", { style: "margin-bottom:1rem" }, h("label", { htmlFor: "model" }, "Model"), choice) : null,
      table([
        ["Model", listed.name],
        ["Made of", listed.origin],
        ["Task", facts.task],
        ["File", `${facts.target}, ${facts.quant}`],
        ["Tokens", `up to ${facts.buckets.at(-1)}; graphs of ${facts.buckets.join(", ")}`],
        ["Labels", facts.labels.join(", ") || "none"],
        ["Licence", listed.licence],
        ["Runtime", `${facts.runtime}, ${facts.threads} thread${facts.threads > 1 ? "s" : ""}`],
        ["Loaded", `${megabytes(loadedBytes)} in ${(loadedMs / 1000).toFixed(1)} s, every file checked by its SHA-256`],
        ["Checksum", listed.checksums.slice(0, 16)],
        ["Page", version.slice(0, 12)],
      ]),
    ),
    h("div", { className: "card" }, h("h2", { style: "margin-top:0" }, "Parts and their licences"), table(PARTS.map(([name, what, licence]) => [name, `${what} · ${licence}`]))),
  );
}
