/** A web server on the loopback for tests: folders under their first path segment, with or without isolation. */

import { createReadStream, statSync } from "node:fs";
import http from "node:http";
import path from "node:path";

const TYPES = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript",
  ".mjs": "text/javascript",
  ".css": "text/css",
  ".json": "application/json",
  ".wasm": "application/wasm",
  ".svg": "image/svg+xml",
  ".webmanifest": "application/manifest+json",
};

/** @param folders by first segment; "" is the rest. @returns its address, what was asked for, and how to end it. */
export async function serve(folders, { isolated = true, port = 0 } = {}) {
  const requests = [];
  const server = http.createServer((request, answer) => {
    const url = new URL(request.url, "http://127.0.0.1");
    const [, first, ...rest] = decodeURIComponent(url.pathname).split("/");
    const named = first in folders && first !== "" && rest.length;
    const name = named ? rest.join("/") : [first, ...rest].join("/");
    const root = named ? folders[first] : folders[""];
    const place = path.join(root ?? "/nowhere", name === "" || name.endsWith("/") ? `${name}index.html` : name);
    let size;
    try {
      size = statSync(place).isFile() ? statSync(place).size : null;
    } catch {
      size = null;
    }
    requests.push({ path: url.pathname, size });
    if (size === null) return answer.writeHead(404).end();
    answer.writeHead(200, {
      "content-type": TYPES[path.extname(place)] ?? "application/octet-stream",
      "content-length": size,
      "cache-control": "no-store",
      ...(isolated ? { "Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Embedder-Policy": "require-corp" } : {}),
    });
    createReadStream(place).pipe(answer);
  });
  await new Promise((resolve) => server.listen(port, "127.0.0.1", resolve));
  return { url: `http://127.0.0.1:${server.address().port}/`, requests, close: () => server.close() };
}
