/** node shots.mjs SITE OUT: pictures of each tab at 390 and 1280 px, light and dark. */

import { mkdirSync } from "node:fs";
import path from "node:path";
import { openBrowser } from "./browser.mjs";
import { serve } from "./serve.mjs";

const [site, out] = process.argv.slice(2);
mkdirSync(out, { recursive: true });
const server = await serve({ "": path.resolve(site) });
const browser = await openBrowser();
try {
  for (const [width, height] of [[390, 844], [1280, 900]]) {
    for (const colorScheme of ["light", "dark"]) {
      const context = await browser.newContext({ viewport: { width, height }, colorScheme, deviceScaleFactor: width < 500 ? 2 : 1 });
      const page = await context.newPage();
      page.on("pageerror", (error) => console.error(error.message));
      await page.goto(server.url);
      await page.waitForFunction(() => document.documentElement.dataset.ready, undefined, { timeout: 180_000 });
      const shot = (name) => page.screenshot({ path: path.join(out, `${name}-${width}-${colorScheme}.png`) });
      await page.waitForFunction(() => /%/.test(document.querySelector(".number").textContent), undefined, { timeout: 60_000 });
      await page.waitForTimeout(400);
      await shot("match");
      await page.getByRole("tab", { name: "FAQ" }).click();
      await page.waitForFunction(() => /lines read in/.test(document.querySelector("#panel-faq").textContent), undefined, { timeout: 120_000 });
      await page.getByLabel("Ask", { exact: true }).fill("How can I get a new password?");
      await page.waitForSelector("ol.hits li", { timeout: 60_000 });
      await page.waitForTimeout(300);
      await shot("faq");
      await page.getByRole("tab", { name: "Measure" }).click();
      if (colorScheme === "light") {
        await page.getByRole("button", { name: "Measure" }).click();
        await page.waitForSelector(".figures", { timeout: 180_000 });
        await page.evaluate(() => scrollTo(0, 0));
      }
      await shot("measure");
      await page.getByRole("tab", { name: "About" }).click();
      await page.evaluate(() => scrollTo(0, 0));
      await shot("about");
      await context.close();
    }
  }
} finally {
  await browser.close();
  server.close();
}
