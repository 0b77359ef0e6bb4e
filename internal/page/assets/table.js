// The table: its columns, their order, what is shown of the rows.
const text = (name, key) => ({key, name, cls: "t", get: r => r[key], show: r => [r[key] || why("m", dash, "not known" + (r.reason ? ": " + r.reason : ""), "no value")]});
const number = (key, name, unit, format, mark, subjects, bar) => ({
  key, name, unit, bar, num: true, get: r => r[key], show: r => cell(r[key], format, mark && r[mark], mark && doubts(r, subjects)),
});
const statusColumn = {key: "word", name: "status", get: r => r.word, show: r => {
  const w = word(r);
  if (r.reason) { w.dataset.why = r.reason; w.tabIndex = 0; w.setAttribute("aria-label", r.word + ": " + r.reason); }
  return [w];
}};
const columns = () => {
  const of = state.unit, first = {key: "name", name: "experiment", get: r => r.name, show: r => [make("button", {
    type: "button", class: "link", text: r.name, title: "show its memory over time", onclick: () => { pick(r.name); $("time").scrollIntoView(); },
  })]};
  const mem = number("mem", "memory", of, memory, "mark", ["GPU memory", "torch memory", "host memory"], "mem");
  const tps = number("tps", "tokens/s", "", speed, null, null, "tps");
  const model = text("model", "model"), method = text("method", "method"), batch = {...text("batch", "batch"), num: true};
  const settings = data.settings.map((s, i) => ({key: "set" + i, name: s, cls: "t", get: r => r.set[i], show: r => [r.set[i] || why("m", dash, "not set", "no value")]}));
  const several = new Set(data.rows.map(r => r.src).filter(Boolean)).size > 1;
  const from = {...text("memory from", "src"), show: r => [r.src ? make("span", {text: r.src.split(":")[0], title: r.src}) : why("m", dash, "there is no figure", "no value")]};
  const rest = [
    number("loss", "loss", "", loss), number("tpeak", "torch peak", of, memory, "tmark", ["torch memory"]),
    number("talloc", "torch allocated", of, memory, "tmark", ["torch memory"]), number("host", "host", of, memory, "hmark", ["host memory"]),
    number("dur", "duration", "", clock), ...several ? [from] : [], text("scenario", "scenario"), ...settings,
  ];
  // Figures that no experiment has come last: their reasons can be read there.
  const empty = c => c.num && !data.rows.some(r => known(r[c.key]));
  rest.sort((a, b) => empty(a) - empty(b));
  const gpus = {...text("GPUs", "gpus"), num: true};
  // A phone shows three or four columns at once: those that were measured come first there.
  if (narrow()) return [first, statusColumn, mem, tps, method, batch, gpus, model, ...rest];
  return [first, model, method, batch, gpus, statusColumn, mem, tps, ...rest];
};

// What is missing stands last in either direction.
const compare = (a, b, down) => {
  const gone = v => v == null || v === "";
  if (gone(a) || gone(b)) return gone(a) - gone(b);
  const c = known(a) && known(b) ? a - b : natural.compare(String(a), String(b));
  return down ? -c : c;
};
const sortValue = (c, r) => {
  const v = c.get(r);
  return c.num && typeof v === "string" && !/^\d/.test(v) ? null : v; // a reason is no value
};
let haystacks = new Map();
const haystack = r => {
  if (!haystacks.has(r)) haystacks.set(r, [r.name, r.scenario, r.model, r.method, r.word, "batch " + r.batch, r.reason, ...r.set].join("\n").toLowerCase());
  return haystacks.get(r);
};
const shown = () => {
  const words = $("q").value.toLowerCase().split(/\s+/).filter(Boolean);
  return data.rows.filter(r => words.every(w => haystack(r).includes(w)) && Object.entries(state.filters).every(([k, v]) => !v || r[k] === v));
};
const sortBy = key => {
  if (state.sort !== key) { state.sort = key; state.down = false; }
  else if (!state.down) state.down = true;
  else { state.sort = null; state.down = false; }
  drawTable();
  const again = $("table").tHead.querySelector("button[data-key=\"" + key + "\"]");
  if (again) again.focus();
};
const drawHead = list => $("table").tHead.replaceChildren(make("tr", {}, ...list.map(c => {
  const button = make("button", {type: "button", "data-key": c.key, onclick: () => sortBy(c.key)}, c.name, c.unit ? make("small", {text: " " + c.unit}) : null);
  const th = make("th", {scope: "col", class: c.num ? "n" : ""}, button);
  if (state.sort === c.key) th.setAttribute("aria-sort", state.down ? "descending" : "ascending");
  return th;
})));
const drawCell = (c, i, r, tops) => {
  const e = make(i ? "td" : "th", i ? {class: [c.num ? "n" : "", c.cls || ""].join(" ").trim()} : {scope: "row"}, ...c.show(r));
  if (c.cls === "t" && e.textContent.length > 24) e.title = e.textContent;
  if (c.bar && known(r[c.key]) && tops[c.bar] > 0) {
    const bar = make("i", {class: "inbar" + (r.status === "ok" ? "" : " off"), "aria-hidden": "true"});
    bar.style.width = Math.max(0, r[c.key]) / tops[c.bar] * 100 + "%";
    e.append(bar);
  }
  return e;
};
// Rows are made once and put in order again; what changes how they look forgets them.
let made = new Map();
const forget = () => { made = new Map(); };
const madeRow = (r, list, tops) => {
  if (!made.has(r)) made.set(r, make("tr", {}, ...list.map((c, i) => drawCell(c, i, r, tops))));
  return made.get(r);
};
const drawTable = () => {
  const list = columns(), rows = shown(), sorted = list.find(c => c.key === state.sort);
  if (sorted) rows.sort((a, b) => compare(sortValue(sorted, a), sortValue(sorted, b), state.down));
  drawHead(list);
  const tops = {};
  for (const key of ["mem", "tps"]) tops[key] = largest(data.rows.map(r => r[key]).filter(known));
  $("table").tBodies[0].replaceChildren(...rows.map(r => madeRow(r, list, tops)));
  $("shown").textContent = rows.length === data.rows.length ? "" : rows.length + " of " + data.rows.length;
  markRow();
};
const markRow = () => { for (const [r, tr] of made) tr.className = r.name === state.pick ? "on" : ""; };
const drawLegend = () => {
  const sources = [...new Set(data.rows.map(r => r.src).filter(Boolean))], marks = new Set(data.rows.flatMap(r => [r.mark, r.tmark, r.hmark]));
  const parts = [];
  if (sources.length) parts.push("Memory: " + sources.join("; ") + ". Torch: rank 0. Host: peak PSS of the process tree. Batch: per device.");
  if (marks.has("~")) parts.push("~ doubtful: readings are missing or contradicted.");
  if (marks.has("!")) parts.push("! contaminated: others than the experiment used the device.");
  parts.push(dash + " no value; it, and each mark, says why when it is pointed at, tapped or reached with Tab.");
  $("legend").textContent = parts.join(" ");
  $("same").replaceChildren(...data.same.length ? ["The same for all: ", ...data.same.flatMap(([k, v], i) => [i ? ", " : "", make("code", {text: k + " " + v})])] : []);
};
const drawFilters = () => {
  const old = state.filters;
  state.filters = {};
  $("selects").replaceChildren();
  for (const [key, name] of [["word", "status"], ["model", "model"], ["method", "method"], ["batch", "batch"], ["gpus", "GPUs"]]) {
    const values = [...new Set(data.rows.map(r => r[key]))].filter(Boolean).sort(natural.compare);
    if (values.length < 2) continue;
    const s = make("select", {id: "only-" + key, "aria-label": "Only this " + name, onchange: () => { state.filters[key] = s.value; refilter(); }}, make("option", {value: "", text: "any " + name}));
    for (const v of values) s.append(make("option", {value: v, text: v}));
    if (values.includes(old[key])) { s.value = old[key]; state.filters[key] = old[key]; }
    $("selects").append(s);
  }
};
$("filters").addEventListener("submit", e => e.preventDefault());
$("filters").addEventListener("reset", () => setTimeout(() => { state.filters = {}; refilter(); }));
$("q").addEventListener("input", () => refilter());
