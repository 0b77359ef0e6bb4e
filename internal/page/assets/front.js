// Memory against speed. On the front of a model no other run of it is both smaller and
// faster. Fronts over several models would say that the smaller model is the better one.
const frontOf = list => {
  let best = -Infinity;
  return [...list].sort((a, b) => a.mem - b.mem || b.tps - a.tps).filter(r => r.tps > best && (best = r.tps, true));
};
// The range of an axis: from 0, unless that left half of it empty.
const range = values => {
  const lo = values.reduce((a, b) => Math.min(a, b), Infinity), hi = largest(values) || 1, pad = (hi - lo) * .12 || hi * .1;
  return lo > hi / 2 ? [Math.max(0, lo - pad), hi + pad] : [0, hi * 1.1];
};
const shapes = {
  0: (x, y, s) => svg("circle", {cx: x, cy: y, r: s}),
  1: (x, y, s) => svg("rect", {x: x - s * .9, y: y - s * .9, width: s * 1.8, height: s * 1.8}),
  2: (x, y, s) => svg("polygon", {points: [x, y - s * 1.2, x + s * 1.15, y + s * .9, x - s * 1.15, y + s * .9].join(" ")}),
  3: (x, y, s) => svg("polygon", {points: [x, y - s * 1.3, x + s * 1.3, y, x, y + s * 1.3, x - s * 1.3, y].join(" ")}),
};
const frame = (s, box, xr, yr, X, Y) => {
  const scale = units[state.unit];
  for (const v of ticks(xr[0], xr[1], scale, Math.max(3, (box.r - box.l) / 110))) s.append(svg("line", {class: "axis", x1: X(v), x2: X(v), y1: box.t, y2: box.b}), svg("text", {x: X(v), y: box.b + 16, "text-anchor": "middle"}, axisText(v, scale)));
  for (const v of ticks(yr[0], yr[1], 1)) s.append(svg("line", {class: "axis", x1: box.l, x2: box.r, y1: Y(v), y2: Y(v)}), svg("text", {x: box.l - 6, y: Y(v) + 4, "text-anchor": "end"}, axisText(v, 1)));
  s.append(svg("text", {x: box.r, y: box.b + 34, "text-anchor": "end"}, "memory, " + state.unit + " \u2192"), svg("text", {x: box.l, y: box.t - 8}, "\u2191 tokens/s"));
};
const overlaps = (a, b) => b[0] < a[2] && a[0] < b[2] && b[1] < a[3] && a[1] < b[3];
// A label goes where it covers nothing; one that fits nowhere is left to the tip.
const place = (s, texts, boxes, box, x, y) => {
  for (const text of texts) {
    const w = text.length * 6.3;
    for (const [dx, dy, end] of [[8, -7, 0], [-9, 4, 1], [9, 16, 0], [-8, -7, 1], [9, 4, 0], [-9, 16, 1], [9, 30, 0], [-9, 30, 1]]) {
      const at = end ? [x + dx - w, y + dy - 11, x + dx, y + dy + 3] : [x + dx, y + dy - 11, x + dx + w, y + dy + 3];
      if (at[0] < box.l || at[2] > box.r + 12 || at[1] < box.t - 6 || at[3] > box.b || boxes.some(b => overlaps(at, b))) continue;
      boxes.push(at);
      s.append(svg("text", {class: "name", x: x + dx, y: y + dy, "text-anchor": end ? "end" : "start"}, text));
      return;
    }
  }
};
const drawPoints = (s, list, front, colour, shape, X, Y, boxes) => {
  const points = front.flatMap((r, i) => (i ? [X(r.mem) + "," + Y(front[i - 1].tps)] : []).concat(X(r.mem) + "," + Y(r.tps)));
  s.append(svg("polyline", {class: "frontline k" + colour, points: points.join(" ")}));
  for (const r of [...list].sort((a, b) => front.includes(a) - front.includes(b))) {
    const best = front.includes(r), tell = title(r) + ": " + r.mark + memory(r.mem) + " " + state.unit + ", " + speed(r.tps) + " tokens/s" + (best ? "; on the front" : "");
    const dot = shapes[shape](X(r.mem), Y(r.tps), best ? 5 : 4);
    for (const [k, v] of Object.entries({class: "dot k" + colour + (best ? " best" : ""), tabindex: "0", role: "img", "aria-label": tell})) dot.setAttribute(k, v);
    dot.dataset.why = tell;
    dot.addEventListener("dblclick", () => { pick(r.name); $("time").scrollIntoView(); });
    s.append(dot);
    boxes.push([X(r.mem) - 5, Y(r.tps) - 5, X(r.mem) + 5, Y(r.tps) + 5]);
  }
};
const drawModels = () => {
  const models = [...new Set(data.rows.map(r => r.model).filter(Boolean))].sort(natural.compare), chosen = $("model").value;
  $("model").replaceChildren(make("option", {value: "", text: "all"}), ...models.map(m => make("option", {value: m, text: m})));
  if (models.includes(chosen)) $("model").value = chosen;
  return models;
};
const drawFront = () => {
  const models = drawModels(), only = $("model").value;
  const list = shown().filter(r => r.status === "ok" && known(r.mem) && known(r.tps) && (!only || r.model === only));
  $("frontsay").replaceChildren();
  if (!list.length) { $("scatter").replaceChildren(nothing("No experiment that is shown ended ok with both figures.")); return; }
  const W = Math.max(280, $("scatter").clientWidth), H = narrow() ? 320 : 400, box = {l: 58, r: W - 16, t: 26, b: H - 44};
  const xr = range(list.map(r => r.mem)), yr = range(list.map(r => r.tps));
  const X = v => box.l + (v - xr[0]) / (xr[1] - xr[0]) * (box.r - box.l), Y = v => box.b - (v - yr[0]) / (yr[1] - yr[0]) * (box.b - box.t);
  const s = svg("svg", {width: W, height: H, role: "group", "aria-label": "Tokens per second over memory of " + list.length + " experiments"});
  frame(s, box, xr, yr, X, Y);
  const boxes = [], fronts = [], tell = [];
  for (const [i, model] of ["", ...models].entries()) {
    const own = list.filter(r => r.model === model);
    if (!own.length) continue;
    const front = frontOf(own), colour = Math.max(0, i - 1) % 8, shape = Math.max(0, i - 1) % 4;
    drawPoints(s, own, front, colour, shape, X, Y, boxes);
    fronts.push(...front);
    const sign = svg("svg", {width: 14, height: 14, "aria-hidden": "true"}), dot = shapes[shape](7, 8, 4.5);
    dot.setAttribute("class", "dot best k" + colour);
    sign.append(dot);
    tell.push(make("span", {class: "front"}, sign, make("b", {text: model || "no model"}), ": " + front.map(r => r.name).join(", ")));
  }
  for (const r of fronts) {
    const tail = [r.method, r.batch && "batch " + r.batch].filter(Boolean).join(" ");
    place(s, [r.name + " " + tail, r.name].filter(t => t.length < 44), boxes, box, X(r.mem), Y(r.tps));
  }
  $("scatter").replaceChildren(s);
  $("frontsay").append("Filled: on the front, where no other experiment of the model that is shown is both smaller and faster. ", ...tell);
};
$("model").addEventListener("change", () => drawFront());
