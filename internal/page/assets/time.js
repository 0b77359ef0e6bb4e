// Memory over time: of one experiment at a time, so that a page of hundreds draws few charts.
let plots = [];
// The curves of a row stand in the file; a live page asks for them.
const fetched = new Map();
const curvesOf = r => r.curves || fetched.get(r.name) || {};
const decode = s => {
  let x = 0, y = 0;
  return [s.x.map(d => (x += d) / 1000), s.y.map(d => (y += d) * 1024)];
};
const groups = r => {
  const all = curvesOf(r).series || [];
  return [["Devices", all.filter(s => !s.h)], ["Host, the process tree", all.filter(s => s.h)]].filter(g => g[1].length);
};
const pick = name => {
  state.pick = name; state.zoom = null;
  $("pick").value = name;
  markRow();
  if (live) fetchCurves().then(drawTime);
  else drawTime();
};
const current = () => data.rows.find(r => r.name === state.pick);
const drawPicker = () => {
  const rows = data.rows;
  $("pick").replaceChildren(...rows.map(r => make("option", {value: r.name, text: title(r)})));
  if (!current() && rows.length) state.pick = (rows.find(r => r.curves && (r.curves.series || []).length) || rows.find(r => r.status === "running") || rows[0]).name;
  $("pick").value = state.pick;
};

// Zoom: all charts of the experiment show the same stretch of time.
const span = () => {
  let lo = Infinity, hi = -Infinity;
  const wider = (a, b) => { lo = Math.min(lo, a); hi = Math.max(hi, b); };
  for (const p of plots) { const x = p.data[0]; if (x.length) wider(x[0], x[x.length - 1]); }
  if (plots.length) for (const m of curvesOf(current()).marks || []) wider(m.s, m.s);
  return lo < hi ? [lo, hi] : lo === hi ? [lo, lo + 1] : [0, 1];
};
let moving = false;
const setZoom = range => {
  const [lo, hi] = span();
  if (range && range[0] <= lo && range[1] >= hi) range = null;
  state.zoom = range;
  moving = true;
  const [min, max] = range || [lo, hi];
  for (const p of plots) p.setScale("x", {min, max});
  moving = false;
  $("charts").dataset.zoom = range ? range.join(" ") : "";
  for (const id of ["reset", "out", "earlier", "later"]) $(id).disabled = !range;
};
const scaleZoom = f => {
  const [lo, hi] = span(), [a, b] = state.zoom || [lo, hi], mid = (a + b) / 2, half = Math.max((b - a) / 2 * f, (hi - lo) / 1e5);
  setZoom([Math.max(lo, mid - half), Math.min(hi, mid + half)]);
};
const slide = by => {
  if (!state.zoom) return;
  const [lo, hi] = span(), [a, b] = state.zoom, d = Math.max(lo - a, Math.min(hi - b, (b - a) * by));
  setZoom([a + d, b + d]);
};
// Two fingers hold two moments, which follow them.
const pinch = (u, over) => {
  let held = null;
  const places = e => [...e.touches].map(t => t.clientX - over.getBoundingClientRect().left).sort((a, b) => a - b);
  over.addEventListener("touchstart", e => { held = e.touches.length === 2 ? places(e).map(p => u.posToVal(p, "x")) : null; }, {passive: true});
  over.addEventListener("touchmove", e => {
    if (!held || e.touches.length !== 2) return;
    e.preventDefault();
    const [a, b] = places(e), [lo, hi] = span(), least = (hi - lo) / 1e5;
    const wide = Math.min(hi - lo, Math.max(least, (held[1] - held[0]) / Math.max(1, b - a) * over.clientWidth));
    const from = Math.min(hi - wide, Math.max(lo, held[0] - a / over.clientWidth * wide));
    setZoom([from, from + wide]);
  }, {passive: false});
};
const keys = {"+": () => scaleZoom(.5), "=": () => scaleZoom(.5), "-": () => scaleZoom(2), "0": () => setZoom(null), ArrowLeft: () => slide(-.3), ArrowRight: () => slide(.3)};
$("charts").addEventListener("keydown", e => {
  if (keys[e.key] && !e.ctrlKey && !e.metaKey && !e.altKey) { keys[e.key](); e.preventDefault(); }
});
$("in").onclick = () => scaleZoom(.5);
$("out").onclick = () => scaleZoom(2);
$("earlier").onclick = () => slide(-.5);
$("later").onclick = () => slide(.5);
$("reset").onclick = () => setZoom(null);
$("pick").onchange = () => pick($("pick").value);
const move = by => {
  const rows = shown(), at = rows.findIndex(r => r.name === state.pick);
  if (rows.length) pick(rows[(Math.max(at, 0) + by + rows.length) % rows.length].name);
};
$("prev").onclick = () => move(-1);
$("next").onclick = () => move(1);

// The training as a band with its steps as ticks, the other moments as dashed lines.
const drawTraining = (u, c, k, px) => {
  const {left, top, width, height} = u.bbox, a = u.valToPos(k.trained[0], "x", true), b = u.valToPos(k.trained[1], "x", true);
  c.fillStyle = css("--tint"); c.fillRect(a, top, b - a, height);
  c.fillStyle = css("--accent");
  if (b > left && a < left + width) c.fillText("training", Math.max(a, left) + 5 * px, top + 3 * px);
  let free = -Infinity;
  for (const s of k.steps || []) {
    const x = u.valToPos(k.trained[0] + s.s, "x", true), label = (free < 0 ? "step " : "") + s.n, w = c.measureText(label).width;
    c.fillRect(x, top + height - 6 * px, px, 6 * px);
    if (x - w > free && x - w > left) { c.fillText(label, x - w - 3 * px, top + height - 15 * px); free = x + 6 * px; }
  }
};
const drawMarks = (u, c, k, px) => {
  const {left, top, width, height} = u.bbox, taken = [];
  c.strokeStyle = c.fillStyle = css("--soft"); c.lineWidth = px; c.setLineDash([3 * px, 3 * px]);
  for (const m of k.marks || []) {
    const x = Math.round(u.valToPos(m.s, "x", true)), w = c.measureText(m.n).width;
    if (x < left - 1 || x > left + width + 1) continue;
    c.beginPath(); c.moveTo(x, top); c.lineTo(x, top + height); c.stroke();
    const at = x + w + 5 * px > left + width ? x - w - 4 * px : x + 4 * px;
    let line = 1;
    while (taken.some(t => t.line === line && at < t.to && at + w > t.from)) line++;
    taken.push({line, from: at, to: at + w + 6 * px});
    c.fillText(m.n, at, top + (3 + 14 * line) * px);
  }
};
const moments = k => u => {
  const c = u.ctx, {left, top, width, height} = u.bbox, px = devicePixelRatio;
  c.save();
  c.beginPath(); c.rect(left, top, width, height); c.clip();
  c.font = 11 * px + "px system-ui, sans-serif"; c.textBaseline = "top"; c.textAlign = "left";
  if (k.trained) drawTraining(u, c, k, px);
  drawMarks(u, c, k, px);
  c.restore();
};
// The peak of a line is the first of its highest points.
const peakOf = ([x, y]) => {
  const v = largest(y);
  return {x: x[y.indexOf(v)], v};
};
const peaks = (list, pairs) => u => {
  const c = u.ctx, {left, top, width, height} = u.bbox, px = devicePixelRatio;
  c.save();
  c.beginPath(); c.rect(left - 6 * px, top, width + 12 * px, height); c.clip(); // a peak at the edge is whole
  c.lineWidth = 1.5 * px; c.strokeStyle = css("--panel");
  for (const p of pairs.map((pair, i) => ({...peakOf(pair), i})).sort((a, b) => a.v - b.v)) { // the highest on top
    c.fillStyle = css("--c" + p.i % 8);
    c.beginPath(); c.arc(u.valToPos(p.x, "x", true), u.valToPos(p.v, "y", true), 4 * px, 0, 2 * Math.PI); c.fill(); c.stroke();
  }
  c.restore();
};
// A device's log says when its level changed, so the level is held until the next point; the
// host is read now and then, and its readings are joined.
const lines = (list, pairs) => list.map((s, i) => ({
  label: s.n + ", peak " + memory(peakOf(pairs[i]).v), stroke: css("--c" + i % 8), width: 1.75, dash: i >= 8 ? [6, 3] : undefined, spanGaps: true,
  paths: s.h ? uPlot.paths.linear() : uPlot.paths.stepped({align: 1}), points: {show: false}, value: (u, v) => v == null ? dash : memory(v) + " " + state.unit,
}));
const zoomedByHand = (u, key) => {
  if (key === "x" && !moving && plots.includes(u)) setZoom([u.scales.x.min, u.scales.x.max]);
};
// The axis of time counts in what is easy to read of its length.
const timeUnit = seconds => seconds > 3 * 3600 ? [3600, " h"] : seconds > 600 ? [60, " min"] : [1, " s"];
const timeTexts = (u, list) => {
  const [size, name] = timeUnit(u.scales.x.max - u.scales.x.min);
  return list.map(v => axisText(v, size) + name);
};
const chart = (r, [name, list], place) => {
  const pairs = list.map(decode), scale = units[state.unit];
  const axis = {stroke: css("--soft"), grid: {stroke: css("--line"), width: 1}, ticks: {stroke: css("--line"), width: 1, size: 4}, font: "12px system-ui, sans-serif"};
  const u = new uPlot({
    width: Math.max(240, place.clientWidth), height: narrow() ? 210 : 260, padding: [8, 18, 0, 0],
    cursor: {drag: {x: true, y: false}, sync: {key: "time"}, points: {size: 6}},
    scales: {x: {time: false}, y: {range: (u, lo, hi) => [0, (hi || 1) * 1.25]}},
    series: [{label: "at", value: (u, v) => v == null ? dash : clock(v)}, ...lines(list, pairs)],
    axes: [
      {...axis, size: 30, splits: (u, i, lo, hi) => ticks(lo, hi, timeUnit(hi - lo)[0], u.width / 90), values: timeTexts},
      {...axis, size: state.unit === "B" ? 96 : 56, values: (u, vs) => axisTexts(vs, scale), splits: (u, i, lo, hi) => ticks(lo, hi, scale)},
    ],
    hooks: {drawAxes: [moments(curvesOf(r))], draw: [peaks(list, pairs)], setScale: [zoomedByHand]},
  }, pairs.length > 1 ? uPlot.join(pairs) : pairs[0], place);
  const over = u.root.querySelector(".u-over");
  pinch(u, over);
  over.setAttribute("role", "img");
  over.setAttribute("aria-label", name + ": memory over time of " + r.name + "; " + list.map((s, i) => s.n + " at most " + memory(peakOf(pairs[i]).v) + " " + state.unit).join(", "));
  return u;
};
const trainingText = " The training is placed so that it ends with the trainer's exit, so it truly began a little earlier, by the time that saving and exiting took.";
const drawTime = () => {
  for (const p of plots) p.destroy();
  plots = [];
  $("charts").replaceChildren();
  const r = current();
  $("about").replaceChildren();
  if (!r) { $("about").textContent = "There are no experiments yet."; return; }
  const list = groups(r), k = curvesOf(r);
  $("about").append(word(r), " ", asked(r));
  for (const text of [r.reason, ...k.notes || []].filter(Boolean)) $("about").append(make("span", {class: "reason", text}));
  if (!list.length) $("charts").append(nothing("No log of memory can be read beside this experiment" + (known(r.mem) ? "." : ": " + r.mem + ".")));
  $("charts").className = list.length > 1 ? "two" : "";
  const places = list.map(g => {
    const place = make("div", {class: "chart"});
    $("charts").append(make("div", {class: "panel"}, make("h3", {}, g[0] + " ", make("small", {text: state.unit})), place));
    return place;
  });
  list.forEach((g, i) => plots.push(chart(r, g, places[i])));
  setZoom(state.zoom);
  $("timelegend").textContent = list.length ? "Drag over a chart, or spread two fingers on it, to zoom; double-click for the whole run; with the keyboard: + \u2212 0 and the arrows. Long logs are thinned; the lowest and highest of each stretch are kept." + (k.guessed ? trainingText : "") : "";
};
