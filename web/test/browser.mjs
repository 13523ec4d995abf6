/** Debian's Chromium without a window, for tests: no request but to the page's own server. */

import { existsSync } from "node:fs";
import { chromium } from "playwright-core";

export const EXECUTABLE = process.env.CHROMIUM ?? "/usr/bin/chromium";

export async function openBrowser(options = {}) {
  if (!existsSync(EXECUTABLE)) throw new Error(`${EXECUTABLE}: no such program; \`apt-get install chromium\`, or set CHROMIUM`);
  return chromium.launch({
    executablePath: EXECUTABLE,
    args: [
      "--headless",
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
    ],
    ...options,
  });
}
