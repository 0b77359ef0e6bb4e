// Who held the devices at their peak, as stacked bars of one scale.
const terms = ["baseline", "torch allocated", "torch slack", "context and other", "foreign", "unexplained"];
const drawKey = any => $("ledgerkey").replaceChildren(
  ...(any ? [...terms, "not told apart"] : []).map((t, i) => make("span", {}, make("i", {class: "sw l" + i}), t)));
const part = (i, bytes, most, name) => {
  const e = make("i", {class: "l" + i, title: name + " " + memory(bytes) + " " + state.unit});
  e.style.width = bytes / most * 100 + "%";
  return e;
};
// Terms that are missing for one reason are told together.
const missing = l => {
  const reasons = new Map();
  l.terms.forEach((v, i) => { if (!known(v)) reasons.set(v, [...reasons.get(v) || [], terms[i]]); });
  return [...reasons].map(([v, names]) => names.join(", ") + " " + dash + " (" + v + ")");
};
const ledgerLine = most => ({r, l}) => {
  const stack = make("div", {class: "stack", "aria-hidden": "true"}), told = [];
  let sum = 0;
  l.terms.forEach((v, i) => {
    if (!known(v)) return;
    told.push(make("span", {}, make("i", {class: "sw l" + i}), terms[i] + " ", make("b", {text: memory(v)})));
    if (v > 0) { sum += v; stack.append(part(i, v, most, terms[i])); }
  });
  const rest = l.used - sum;
  if (rest > l.used * .005) {
    told.push(make("span", {}, make("i", {class: "sw l6"}), "not told apart ", make("b", {text: memory(rest)})));
    stack.append(part(6, rest, most, "not told apart"));
  }
  const says = [...missing(l), ...l.notes || []];
  return make("div", {class: "led"}, make("div", {class: "who", title: title(r)}, r.name, make("small", {text: [" " + l.dev, r.method, r.batch && "batch " + r.batch].filter(Boolean).join(" \u00b7 ")})), stack,
    make("div", {class: "total"}, ...cell(l.used, v => memory(v) + " " + state.unit, l.mark, (l.notes || []).join("\n") || doubts(r, ["GPU memory"]))),
    make("div", {class: "parts"}, ...told, says.length ? make("details", {}, make("summary", {text: "why, and what else is known"}), ...says.map(s => make("p", {text: s}))) : null));
};
// A ledger tells something where more than the level and the baseline are known.
const tells = l => l.terms.slice(1).some(known);
const whole = l => Math.max(l.used, l.terms.reduce((sum, v) => sum + (v > 0 ? v : 0), 0));
const drawLedger = () => {
  const all = shown().flatMap(r => (r.ledger || []).filter(l => known(l.used)).map(l => ({r, l}))), list = all.filter(x => tells(x.l)), mute = all.filter(x => !tells(x.l));
  drawKey(list.length > 0);
  fill("ledgers", list, ledgerLine(Math.max(1, largest(list.map(x => whole(x.l))))), 24, "Nothing is known of who held the devices" + (mute.length ? "." : ": no experiment that is shown was watched on one."));
  if (!mute.length) return;
  const of = mute.length === 1 ? "of one device only its level is known" : "of " + mute.length + " devices only the level is known";
  $("ledgers").append(make("details", {class: "mute"}, make("summary", {text: of}),
    ...mute.map(({r, l}) => make("p", {text: r.name + " " + l.dev + ": " + l.mark + memory(l.used) + " " + state.unit + "; " + [...missing(l), ...l.notes || []].join("; ")}))));
};
