// What all parts of the page share. Text of the results is put into the page by
// textContent and as attributes of plain text only: none of it is read as markup.
const $ = id => document.getElementById(id);
const make = (tag, props, ...kids) => {
  const e = document.createElement(tag);
  for (const [k, v] of Object.entries(props || {})) {
    if (k === "class") e.className = v;
    else if (k === "text") e.textContent = v;
    else if (k.startsWith("on")) e.addEventListener(k.slice(2), v);
    else e.setAttribute(k, v);
  }
  e.append(...kids.filter(k => k != null));
  return e;
};
const svgNS = "http://www.w3.org/2000/svg";
const svg = (tag, attrs, text) => {
  const e = document.createElementNS(svgNS, tag);
  for (const [k, v] of Object.entries(attrs || {})) e.setAttribute(k, v);
  if (text != null) e.textContent = text;
  return e;
};
const css = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const known = v => typeof v === "number";
const dash = "\u2013";
const units = {GiB: 2 ** 30, GB: 1e9, MiB: 2 ** 20, B: 1};
const natural = new Intl.Collator("en", {numeric: true, sensitivity: "base"});

let data = JSON.parse($("data").textContent);
const live = data.live === true;
if (live) data = {unit: "", summary: "waiting for the data", settings: [], same: [], rows: []};
const state = {unit: "GiB", sort: null, down: false, pick: null, filters: {}, zoom: null, all: {}};
const narrow = () => innerWidth < 640;

// Figures.
const digits = (n, d) => n.toLocaleString("en-US", {minimumFractionDigits: d, maximumFractionDigits: d, useGrouping: false});
const memory = bytes => {
  const n = bytes / units[state.unit];
  if (state.unit === "MiB" || state.unit === "B") return n !== 0 && Math.abs(n) < .5 ? "<1" : digits(n, 0);
  return n !== 0 && Math.abs(n) < .005 ? "<0.01" : digits(n, 2);
};
const speed = n => Math.abs(n) >= 100 ? digits(n, 0) : Math.abs(n) >= 10 ? digits(n, 1) : String(+n.toPrecision(3));
const loss = n => Math.abs(n) >= 1000 || n !== 0 && Math.abs(n) < .001 ? String(+n.toPrecision(4)) : digits(n, 4);
const clock = s => {
  if (s < 60) return digits(s, 1) + " s";
  const t = Math.round(s), h = Math.floor(t / 3600), m = Math.floor(t % 3600 / 60);
  const two = n => String(n).padStart(2, "0");
  return h ? h + "h" + two(m) + "m" + two(t % 60) + "s" : m + "m" + two(t % 60) + "s";
};
const largest = list => list.reduce((a, b) => Math.max(a, b), 0);
// The marks of an axis, at round numbers of its unit.
const ticks = (lo, hi, scale, about) => {
  const rough = (hi - lo) / scale / (about || 5), ten = 10 ** Math.floor(Math.log10(rough > 0 ? rough : 1));
  const by = [1, 2, 5, 10].map(m => m * ten).find(s => s >= rough) || ten, out = [];
  for (let v = Math.ceil(lo / scale / by) * by; v <= hi / scale + 1e-9; v += by) out.push(v * scale);
  return out;
};
const axisText = (v, scale) => String(+(v / scale).toPrecision(6));
// Of one axis, with as many digits behind the point each.
const axisTexts = (list, scale) => {
  const behind = largest(list.map(v => (axisText(v, scale).split(".")[1] || "").length));
  return list.map(v => digits(v / scale, behind));
};

// The tip says why: on hover, on focus and on a tap; Escape ends it.
const tip = $("tip");
const say = target => {
  tip.textContent = target.dataset.why;
  tip.hidden = false;
  const at = target.getBoundingClientRect(), own = tip.getBoundingClientRect();
  tip.style.left = Math.max(8, Math.min(at.left, innerWidth - own.width - 8)) + "px";
  tip.style.top = (at.bottom + own.height + 8 > innerHeight ? Math.max(4, at.top - own.height - 6) : at.bottom + 6) + "px";
};
const hush = () => { tip.hidden = true; };
for (const event of ["mouseover", "focusin", "click"])
  document.addEventListener(event, e => {
    const w = e.target.closest && e.target.closest("[data-why]");
    if (w) say(w); else if (event !== "focusin") hush();
  });
document.addEventListener("focusout", hush);
// What has the focus may be scrolled to because of it: its tip goes along.
document.addEventListener("scroll", () => {
  const held = document.activeElement;
  if (!tip.hidden && held && held.dataset.why && held.dataset.why === tip.textContent) say(held); else hush();
}, true);
document.addEventListener("keydown", e => { if (e.key === "Escape") hush(); });
const why = (kind, sign, text, label) => {
  const b = make("button", {type: "button", class: "why " + kind, text: sign, "aria-label": label + ": " + text});
  b.dataset.why = text;
  return b;
};

// What people read of a row.
const doubts = (r, subjects) => {
  const notes = r.notes || [], own = notes.filter(n => subjects.some(p => n.startsWith(p)));
  return (own.length ? own : notes).join("\n") || "no more is known";
};
const cell = (v, format, mark, doubt) => {
  if (!known(v)) return [why("m", dash, v || "not measured", "no value")];
  if (!mark) return [format(v)];
  const name = mark === "!" ? "contaminated" : "doubtful";
  return [why(mark === "!" ? "x" : "d", mark, name + ": " + doubt, name), format(v)];
};
const word = r => make("span", {class: "word " + (r.status === "ok" ? "ok" : r.status === "running" ? "run" : "bad"), text: r.word});
const asked = r => [r.model, r.method, r.batch && "batch " + r.batch, r.gpus && r.gpus + (r.gpus === "1" ? " GPU" : " GPUs")].filter(Boolean).join(" \u00b7 ");
const title = r => [r.name, r.model, r.method, r.batch && "batch " + r.batch, r.word].filter(Boolean).join(" \u00b7 ");
const nothing = text => make("p", {class: "none", text});

// A long list begins with its first parts; a button shows the others.
const fill = (id, list, spell, most, empty) => {
  const show = state.all[id] ? list.length : most, place = $(id);
  place.replaceChildren(...list.slice(0, show).map(spell));
  if (!list.length) place.append(nothing(empty));
  if (list.length > show) place.append(make("button", {type: "button", text: "Show all " + list.length, onclick: () => {
    state.all[id] = true;
    fill(id, list, spell, most, empty);
  }}));
};
