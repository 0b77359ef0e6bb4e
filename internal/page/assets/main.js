// What is drawn when.
const refilter = () => { drawTable(); drawLedger(); drawFront(); drawFailures(); drawNotes(); };
const drawAll = () => {
  haystacks = new Map(); forget();
  if (data.unit in units && !state.chose) { state.unit = data.unit; $("unit").value = data.unit; }
  $("summary").textContent = data.summary;
  drawFilters(); drawLegend(); drawPicker(); refilter(); drawTime(); drawEnvironment();
};
const theme = name => {
  document.documentElement.dataset.theme = name;
  $("theme").textContent = name === "dark" ? "Light" : "Dark";
};
const inTheme = name => { theme(name); drawTime(); };
const isDark = () => document.documentElement.dataset.theme === "dark";
$("theme").onclick = () => inTheme(isDark() ? "light" : "dark");
$("unit").onchange = () => { state.unit = $("unit").value; state.chose = true; forget(); drawTable(); drawTime(); drawLedger(); drawFront(); };
const dark = matchMedia("(prefers-color-scheme: dark)");
theme(dark.matches ? "dark" : "light");
dark.addEventListener("change", () => inTheme(dark.matches ? "dark" : "light"));

// Paper is white, and shows all that the screen folds away.
let before = null;
addEventListener("beforeprint", () => { before = isDark(); if (before) inTheme("light"); });
addEventListener("afterprint", () => { if (before) inTheme("dark"); });
let width = innerWidth, waiting = 0;
addEventListener("resize", () => {
  clearTimeout(waiting);
  waiting = setTimeout(() => { if (innerWidth !== width) { width = innerWidth; forget(); drawTable(); drawTime(); drawFront(); } }, 120);
});
drawAll();

// A live page asks for newer data while somebody looks at it.
const tags = new Map();
const ask = async what => {
  const answer = await fetch(what, {cache: "no-store", headers: tags.has(what) ? {"If-None-Match": tags.get(what)} : {}});
  if (answer.status === 304) return null;
  if (!answer.ok) throw new Error("the server answered " + answer.status);
  const got = await answer.json();
  tags.set(what, answer.headers.get("ETag"));
  return got;
};
const fetchCurves = async () => {
  const name = state.pick;
  if (name == null) return false;
  const got = await ask("curves?row=" + encodeURIComponent(name));
  if (got) fetched.set(name, got);
  return got != null && name === state.pick;
};
const refresh = async () => {
  const got = await ask("data");
  if (got) { data = got; drawAll(); }
  const r = current();
  if (r && (r.status === "running" || got || !fetched.has(r.name)) && await fetchCurves()) drawTime();
  $("summary").textContent = data.summary;
};
const poll = async () => {
  try {
    if (!document.hidden) await refresh();
  } catch (e) {
    $("summary").textContent = (data.rows.length ? data.summary + " \u00b7 " : "") + "no newer data: " + e.message;
  }
  setTimeout(poll, 2000);
};
if (live) poll();
