/** Elements without a framework. */

type Child = Node | string | null | undefined | false;

/** An element with its properties, or attributes where it has no such property, and children. */
export function h<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  given: Record<string, unknown> = {},
  ...children: Child[]
): HTMLElementTagNameMap[Name] {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(given)) {
    if (value === undefined || value === false) continue;
    if (key in element && key !== "list" && key !== "form") (element as unknown as Record<string, unknown>)[key] = value;
    else element.setAttribute(key, String(value));
  }
  element.append(...children.filter((child): child is Node | string => child instanceof Node || typeof child === "string"));
  return element;
}

/** Names and values. */
export function facts(rows: readonly (readonly [string, string])[]): HTMLElement {
  return h("dl", { className: "facts" }, ...rows.flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]));
}

/** Calls a function when nothing new has come for a while. */
export function after(milliseconds: number, call: () => void): () => void {
  let timer = 0;
  return () => {
    clearTimeout(timer);
    timer = window.setTimeout(call, milliseconds);
  };
}

export function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`;
}
