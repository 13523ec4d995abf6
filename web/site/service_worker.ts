/**
 * Keeps every file of the site that was read, under the version that `mobilebert web` gave it, so that the next visit
 * needs no network. It also adds the two headers that threads need, which a plain file server does not send.
 */

interface Fetching extends Event {
  readonly request: Request;
  respondWith(answer: Promise<Response>): void;
}
interface Extendable extends Event {
  waitUntil(done: Promise<unknown>): void;
}
const scope = globalThis as unknown as {
  registration: { scope: string };
  skipWaiting(): Promise<void>;
  clients: { claim(): Promise<void> };
  addEventListener(name: "install" | "activate", call: (event: Extendable) => void): void;
  addEventListener(name: "fetch", call: (event: Fetching) => void): void;
};

const PREFIX = "mobilebert-web ";
const SHELL = ["./", "app.js", "style.css", "icon.svg", "manifest.webmanifest", "worker.js"];
/** Asked of the network first: it names the version of everything else. */
const LISTING = "models.json";

scope.addEventListener("install", (event) => {
  event.waitUntil(install());
});

scope.addEventListener("activate", (event) => {
  event.waitUntil(scope.clients.claim());
});

scope.addEventListener("fetch", (event) => {
  const url = new URL(event.request.url);
  if (event.request.method !== "GET" || !url.href.startsWith(scope.registration.scope)) return;
  event.respondWith(answer(url));
});

async function install(): Promise<void> {
  const cache = await caches.open(await newest());
  await cache.addAll([...SHELL, LISTING]);
  await scope.skipWaiting();
}

/** Name of the cache of the version that the server has; caches of others are deleted. */
async function newest(): Promise<string> {
  const listing = await fetch(LISTING, { cache: "no-cache" });
  const { version } = (await listing.json()) as { version: string };
  const name = PREFIX + version;
  for (const other of await caches.keys()) if (other.startsWith(PREFIX) && other !== name) await caches.delete(other);
  return name;
}

async function current(): Promise<string> {
  return (await caches.keys()).find((name) => name.startsWith(PREFIX)) ?? newest();
}

async function answer(url: URL): Promise<Response> {
  url.search = ""; // only the page reads what follows the question mark
  url.hash = "";
  if (url.href === new URL(LISTING, scope.registration.scope).href) {
    // A new version empties the cache, so that no file of the old one is mixed in.
    try {
      const name = await newest();
      const cache = await caches.open(name);
      if (!(await cache.match("app.js"))) await cache.addAll([...SHELL, LISTING]);
    } catch {
      // Offline: what is kept is the version.
    }
  }
  const cache = await caches.open(await current());
  const kept = await cache.match(url.href);
  if (kept) return isolated(kept);
  const found = await fetch(url.href);
  if (found.ok) await cache.put(url.href, found.clone());
  return isolated(found);
}

function isolated(found: Response): Response {
  const headers = new Headers(found.headers);
  headers.set("Cross-Origin-Opener-Policy", "same-origin");
  headers.set("Cross-Origin-Embedder-Policy", "require-corp");
  headers.set("Cross-Origin-Resource-Policy", "same-origin");
  return new Response(found.body, { status: found.status, statusText: found.statusText, headers });
}
