// Looks at the page in a real browser and exits with 1 where it does not do what it should.
//   node browser.cjs MODULES CHROMIUM file|live URL [FOLDER FOR SCREENSHOTS]
"use strict";
const path = require("node:path");
const [modules, chromium, mode, url, shots] = process.argv.slice(2);
const playwright = require(path.join(modules, "playwright-core"));

const equal = (got, want, what) => {
  const [g, w] = [got, want].map(x => JSON.stringify(x));
  if (g !== w) throw new Error(what + ": got " + g + ", want " + w);
  console.log("ok: " + what);
};
const holds = (condition, what) => equal(Boolean(condition), true, what);
const column = (page, key) => page.$$eval("#table tbody tr", (rows, key) => {
  const at = [...document.querySelectorAll("#table thead button")].findIndex(b => b.dataset.key === key);
  return rows.map(r => r.cells[at].textContent);
}, key);
const sort = (page, key) => page.click("#table thead button[data-key=" + key + "]");

// open loads the page and keeps all that it asks for and complains of.
const open = async (browser, options) => {
  const context = await browser.newContext(options), page = await context.newPage(), seen = {requests: [], complaints: []};
  page.on("request", r => seen.requests.push(r.url()));
  page.on("console", m => { if (m.type() === "error" || m.type() === "warning") seen.complaints.push(m.text()); });
  page.on("pageerror", e => seen.complaints.push(e.message));
  page.on("dialog", d => { seen.complaints.push("dialog " + d.message()); d.dismiss(); });
  await page.goto(url);
  return {page, seen, context};
};
const shoot = async (page, name) => {
  if (shots) await page.screenshot({path: path.join(shots, name + ".png"), fullPage: true});
};

const table = async page => {
  equal(await column(page, "name"), ["exp_0", "exp_1", "exp_2", "exp_3", "exp_4"], "the rows stand in the order of the experiments");
  await sort(page, "tps");
  equal(await column(page, "tps"), ["900", "1000", "2500", "\u2013", "\u2013"], "tokens/s ascending, missing ones last");
  await sort(page, "tps");
  equal(await column(page, "tps"), ["2500", "1000", "900", "\u2013", "\u2013"], "tokens/s descending, missing ones last");
  equal(await page.getAttribute("#table th[aria-sort]", "aria-sort"), "descending", "the sort is told to screen readers");
  await page.keyboard.press("Enter");
  equal((await column(page, "name"))[0], "exp_0", "the third press, with the keyboard, brings the first order back");
  await sort(page, "batch");
  equal((await column(page, "batch")).slice(0, 4), ["4", "8", "16", "64"], "batches are sorted as numbers");
  await sort(page, "batch"); await sort(page, "batch");
};
const filter = async page => {
  await page.fill("#q", "model-b full");
  equal(await column(page, "name"), ["exp_2", "exp_3"], "two words filter");
  equal(await page.textContent("#shown"), "2 of 5", "how many are shown is said");
  await page.selectOption("#only-word", "OOM");
  equal(await column(page, "name"), ["exp_3"], "a status filters further");
  await page.click("#filters button[type=reset]");
  await page.waitForFunction(() => document.querySelectorAll("#table tbody tr").length === 5);
  console.log("ok: the filter is cleared");
};
const units = async page => {
  equal((await column(page, "mem"))[0], "8.00", "memory in GiB");
  await page.selectOption("#unit", "MiB");
  equal((await column(page, "mem"))[0], "8192", "memory in MiB");
  await page.selectOption("#unit", "GB");
  equal((await column(page, "mem"))[0], "8.59", "memory in GB");
  await page.selectOption("#unit", "GiB");
};
const zoom = async page => {
  const wide = async () => (await page.getAttribute("#charts", "data-zoom") || "").split(" ").filter(Boolean).map(Number);
  equal(await page.$$eval("#charts canvas", c => c.length), 2, "one chart of the devices and one of the host");
  equal((await wide()).length, 0, "the whole run is shown at first");
  await page.locator("#charts").scrollIntoViewIfNeeded();
  const box = await page.locator("#charts .u-over").first().boundingBox();
  await page.mouse.move(box.x + box.width * .25, box.y + 50);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * .5, box.y + 60, {steps: 5});
  await page.mouse.up();
  const [lo, hi] = await wide();
  holds(lo > 3 && lo < 7 && hi > 8 && hi < 12, "a drag zooms to the second quarter: " + lo + " to " + hi);
  await page.focus("#charts");
  await page.keyboard.press("+");
  const [a, b] = await wide();
  holds(Math.abs((b - a) * 2 - (hi - lo)) < .01, "the key + halves the stretch");
  await page.keyboard.press("ArrowRight");
  holds((await wide())[0] > a, "the arrow moves it");
  await page.click("#reset");
  equal((await wide()).length, 0, "the whole run comes back");
  holds((await page.textContent("#charts .u-legend")).includes("device 0, peak 8.00"), "the legend tells the peak");
  await page.click("#next");
  equal(await page.inputValue("#pick"), "exp_1", "the next experiment is drawn");
};
const pinch = async (page, context) => {
  await page.locator("#charts .u-over").first().scrollIntoViewIfNeeded();
  const box = await page.locator("#charts .u-over").first().boundingBox(), y = box.y + box.height / 2, at = part => ({x: box.x + box.width * part, y});
  const cdp = await context.newCDPSession(page), touch = (type, parts) => cdp.send("Input.dispatchTouchEvent", {type, touchPoints: parts.map(at)});
  await touch("touchStart", [.4, .6]);
  for (const by of [.05, .1, .15]) await touch("touchMove", [.4 - by, .6 + by]);
  await touch("touchEnd", []);
  const [lo, hi] = (await page.getAttribute("#charts", "data-zoom")).split(" ").map(Number);
  holds(hi - lo > 6 && hi - lo < 10 && Math.abs(lo + hi - 19.9) < 1.5, "two fingers zoom in around their middle: " + lo + " to " + hi);
  await page.tap("#out"); await page.tap("#out");
  equal(await page.getAttribute("#charts", "data-zoom"), "", "the buttons zoom out on touch");
};
const reasons = async page => {
  const dash = page.locator("#table tbody tr").nth(3).locator("button.why").first();
  await dash.focus();
  const text = await page.textContent("#tip");
  holds(await page.isVisible("#tip") && text.length > 5, "a dash that has the focus says: " + text);
  await page.keyboard.press("Escape");
  holds(!await page.isVisible("#tip"), "Escape ends it");
};
const ledger = async page => {
  const bars = await page.$$eval("#ledgers .led", all => all.map(l => ({who: l.querySelector(".who").textContent, total: l.querySelector(".total").textContent,
    parts: [...l.querySelectorAll(".parts span")].map(s => s.textContent), wide: [...l.querySelectorAll(".stack i")].reduce((sum, i) => sum + i.getBoundingClientRect().width, 0) / l.querySelector(".stack").getBoundingClientRect().width})));
  equal(bars.length, 1, "the one device that was watched has a ledger");
  equal(bars[0].who, "exp_2 device 0 \u00b7 full \u00b7 batch 8", "it says whose device it was");
  holds(bars[0].total.includes("29.30 GiB"), "its total is the peak: " + bars[0].total);
  equal(bars[0].parts, ["baseline 0.59", "torch allocated 23.44", "torch slack 2.34", "context and other 0.98", "foreign 1.46", "unexplained 0.49"], "its parts are told with their sizes");
  holds(Math.abs(bars[0].wide - 1) < .01, "its parts together are as long as the largest bar: " + bars[0].wide);
};
const harmless = async (page, seen) => {
  equal(await page.title(), "tunebench report", "the hostile text did not run");
  equal(await page.$$eval("img, iframe, object, form[action], a[href^=javascript]", e => e.length), 0, "no element was made of it");
  holds((await column(page, "model"))[4].includes("</script><img src=x"), "it stands in the table as text");
  equal(await page.$$eval("#failed pre", p => p.some(e => e.textContent.includes("onerror="))), true, "and in the tail of the log");
  equal(seen.requests.filter(r => r !== url && !r.startsWith("data:")), [], "no request left the file");
  equal(seen.complaints, [], "no error on the console");
};
const refused = async page => {
  const answer = await page.evaluate(() => fetch("http://127.0.0.1:9/").then(() => "answered", () => "refused"));
  equal(answer, "refused", "the policy refuses a request that a script makes");
  const ran = await page.evaluate(() => { const s = document.createElement("script"); s.textContent = "document.title = 'owned'"; document.body.append(s); return document.title; });
  equal(ran, "tunebench report", "the policy refuses a script that is added");
};

const file = async browser => {
  const {page, seen} = await open(browser, {viewport: {width: 1280, height: 900}, colorScheme: "light", offline: true});
  await table(page); await filter(page); await units(page); await zoom(page); await reasons(page); await ledger(page);
  equal(await page.$$eval("#scatter .dot", d => d.length), 3, "three experiments have memory and speed");
  equal(await page.$$eval("#scatter .dot.best", d => d.length), 3, "all are on the front of their model");
  await harmless(page, seen);
  await shoot(page, "light");
  await page.click("#theme");
  equal(await page.evaluate(() => getComputedStyle(document.documentElement).colorScheme), "dark", "the theme changes");
  await page.emulateMedia({media: "print"});
  holds(!await page.isVisible("nav"), "paper has no navigation");
  await refused(page);
  const dark = await open(browser, {viewport: {width: 1280, height: 900}, colorScheme: "dark", offline: true});
  equal(await dark.page.evaluate(() => document.documentElement.dataset.theme), "dark", "a dark system gets a dark page");
  await shoot(dark.page, "dark");
  const phone = await open(browser, {viewport: {width: 390, height: 844}, hasTouch: true, isMobile: true, deviceScaleFactor: 2, colorScheme: "light", offline: true});
  equal(await phone.page.evaluate(() => document.documentElement.scrollWidth), 390, "on a phone nothing stands outside the screen");
  await phone.page.locator("#table tbody tr").nth(3).locator(".word").tap();
  equal(await phone.page.textContent("#tip"), "CUDA out of memory", "a tap on the status says why");
  await phone.page.keyboard.press("Escape");
  await pinch(phone.page, phone.context);
  await shoot(phone.page, "phone");
  equal([...dark.seen.complaints, ...phone.seen.complaints], [], "no error in the dark and on a phone");
};

const liveMode = async browser => {
  const {page, seen} = await open(browser, {viewport: {width: 1280, height: 900}});
  const rows = n => page.waitForFunction(n => document.querySelectorAll("#table tbody tr").length === n, n, {timeout: 20000});
  await rows(1);
  await page.waitForSelector("#charts canvas", {timeout: 20000});
  console.log("READY");
  await rows(2);
  equal(await column(page, "name"), ["exp_0", "exp_1"], "a new experiment appears");
  await page.click("#next");
  await page.waitForFunction(() => document.querySelector("#pick").value === "exp_1" && document.querySelectorAll("#charts canvas").length === 2, null, {timeout: 20000});
  console.log("ok: its curves are asked for");
  equal(seen.requests.filter(r => !r.startsWith(url) && !r.startsWith("data:")), [], "no request left the server");
  equal(seen.complaints, [], "no error on the console");
  await shoot(page, "live");
};

(async () => {
  const browser = await playwright.chromium.launch({executablePath: chromium, headless: true, args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]});
  try {
    await (mode === "live" ? liveMode : file)(browser);
  } finally {
    await browser.close();
  }
})().catch(e => { console.error(e.message); process.exitCode = 1; });
