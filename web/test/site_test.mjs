/**
 * node site_test.mjs SITE OUT LINES TYPED LABEL: the site in headless Chromium, as a visitor uses it. The last line
 * is JSON. TYPED is Python's score of the two texts about the Moon in percent, LABEL its decision.
 *
 * The server sends no headers for threads: the site's service worker has to add them.
 */

import { writeFileSync } from "node:fs";
import path from "node:path";
import { openBrowser } from "./browser.mjs";
import { serve } from "./serve.mjs";

const [site, out, lines, typed, label] = process.argv.slice(2);
const READY = 300_000;
const server = await serve({ "": path.resolve(site) }, { isolated: false });
const browser = await openBrowser();
const found = { elsewhere: [], errors: [] };
const context = await browser.newContext({ acceptDownloads: true });
const page = await context.newPage();
context.on("request", (request) => {
  if (!request.url().startsWith(server.url) && !request.url().startsWith("blob:")) found.elsewhere.push(request.url());
});
page.on("pageerror", (error) => found.errors.push(error.message));

const ready = () => page.waitForFunction(() => document.documentElement.dataset.ready === "true", undefined, { timeout: READY });
const verdict = async () => {
  await page.waitForFunction(() => /^\d+%$/.test(document.querySelector("#panel-match .number").textContent), undefined, { timeout: READY });
  return page.evaluate(() => ({
    number: document.querySelector("#panel-match .number").textContent,
    label: document.querySelector("#panel-match .label").textContent,
  }));
};
const focus = () => page.evaluate(() => document.activeElement?.id || document.activeElement?.textContent);

try {
  // First visit: bytes and seconds until it answers.
  const start = performance.now();
  await page.goto(server.url);
  await ready();
  found.first = await verdict();
  found.firstSeconds = (performance.now() - start) / 1000;
  found.firstBytes = server.requests.reduce((sum, one) => sum + (one.size ?? 0), 0);
  found.missing = server.requests.filter((one) => one.size === null).map((one) => one.path);

  // Keyboard alone: skip link, tabs by arrows, the fields by Tab.
  await page.keyboard.press("Tab");
  found.keyboard = [await focus()];
  await page.keyboard.press("Tab");
  found.keyboard.push(await focus());
  await page.keyboard.press("ArrowRight");
  found.keyboard.push(await focus());
  await page.keyboard.press("ArrowLeft");
  await page.keyboard.press("Tab");
  found.keyboard.push(await focus());
  await page.keyboard.press("Control+A");
  await page.keyboard.type("How old is the Moon?");
  await page.keyboard.press("Tab");
  await page.keyboard.press("Control+A");
  await page.keyboard.type("How far away is the Moon?");
  const answered = ([percent, decision]) => {
    const shown = (name) => document.querySelector(`#panel-match .${name}`).textContent;
    return Math.abs(Number.parseInt(shown("number"), 10) - percent) <= 1 && shown("label") === decision;
  };
  await page.waitForFunction(answered, [Number(typed), label], { timeout: READY });
  // Everything one can use has a name for a screen reader.
  found.unnamed = await page.evaluate(() =>
    [...document.querySelectorAll("button, input:not([hidden]), textarea, select")]
      .filter((one) => !one.textContent.trim() && !one.labels?.length && !one.getAttribute("aria-label"))
      .map((one) => one.outerHTML.slice(0, 80)),
  );

  // A large FAQ: answers come while it is read, and the page stays responsive.
  await page.getByRole("tab", { name: "FAQ" }).click();
  await page.waitForFunction(() => /lines read in/.test(document.querySelector("#panel-faq").textContent), undefined, { timeout: READY });
  const rows = Array.from({ length: Number(lines) }, (_, i) => `How do I repair part ${i} of the machine?,Answer ${i}`);
  rows[3] = "How can I reset my password?,In the settings";
  const faq = `${out}.csv`;
  writeFileSync(faq, `question,answer\n${rows.join("\n")}`);
  await page.evaluate(() => {
    globalThis.gaps = [];
    let last = performance.now();
    setInterval(() => {
      const now = performance.now();
      globalThis.gaps.push(now - last);
      last = now;
    }, 10);
  });
  await page.waitForTimeout(4000);
  found.longestPauseBeforeMs = await page.evaluate(() => Math.max(...globalThis.gaps.splice(0)));
  await page.getByLabel("Ask", { exact: true }).fill("I forgot my password, how do I get a new one?");
  const dropped = performance.now();
  await page.locator("input[type=file]").setInputFiles(faq);
  await page.waitForFunction(() => /In the settings/.test(document.querySelector("#panel-faq ol.hits li")?.textContent ?? ""), undefined, { timeout: READY });
  found.faqFirstAnswerSeconds = (performance.now() - dropped) / 1000;
  await page.getByLabel("Ask", { exact: true }).fill("");
  await page.getByLabel("Ask", { exact: true }).pressSequentially("reset password", { delay: 40 });
  const asked = performance.now();
  await page.waitForFunction(() => document.querySelectorAll("#panel-faq ol.hits li").length > 1, undefined, { timeout: READY });
  found.faqSearchWhileReadingSeconds = (performance.now() - asked) / 1000;
  found.faqRead = await page.evaluate(() => document.querySelector("#panel-faq progress").value);
  found.faqLines = Number(lines);
  found.longestPauseMs = await page.evaluate(() => Math.max(...globalThis.gaps));

  // A second visit without the network, isolated by the service worker.
  server.close();
  await context.setOffline(true);
  await page.goto(server.url);
  await ready();
  found.offline = await verdict();
  found.isolated = await page.evaluate(() => crossOriginIsolated);

  // Measure, and save the record.
  await page.getByRole("tab", { name: "Measure" }).click();
  found.backends = await page.locator("#backend option").allTextContents();
  await page.getByRole("button", { name: "Measure" }).click();
  await page.waitForSelector("#panel-measure .figures", { timeout: READY });
  const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Save record" }).click()]);
  const chunks = [];
  for await (const chunk of await download.createReadStream()) chunks.push(chunk);
  writeFileSync(out, Buffer.concat(chunks));
  found.errors = found.errors.slice(0, 5);
  console.log(JSON.stringify(found));
} finally {
  await browser.close();
  server.close();
}
process.exit(0);
