// Failures, notes, environment.
const drawFailures = () => {
  const list = shown().filter(r => r.status !== "ok" && r.status !== "running");
  fill("failed", list, r => make("article", {}, make("h3", {}, r.name + " ", word(r), make("small", {text: " " + asked(r)})),
    make("p", {text: r.reason}),
    r.tail ? make("details", list.length < 3 ? {open: ""} : {}, make("summary", {text: "the last lines of its stderr"}), make("pre", {text: r.tail, tabindex: "0"})) : null),
  24, "All experiments that are shown ended ok.");
  for (const pre of $("failed").querySelectorAll("pre")) pre.scrollTop = pre.scrollHeight;
};
const drawNotes = () => {
  const list = shown().filter(r => (r.notes || []).length + (r.remarks || []).length);
  fill("noted", list, r => make("article", {}, make("h3", {text: r.name}), make("ul", {},
    ...(r.notes || []).map(n => make("li", {text: n})), ...(r.remarks || []).map(n => make("li", {class: "remark", text: n})))),
  24, "There is nothing to say of the experiments that are shown.");
};
const few = of => of.length > 6 ? of.slice(0, 6).join(", ") + " and " + (of.length - 6) + " more" : of.join(", ");
const drawEnvironment = () => {
  const names = [...new Set(data.rows.flatMap(r => (r.env || []).map(e => e[0])))], dl = make("dl");
  for (const name of names) {
    const values = new Map();
    for (const r of data.rows) {
      const e = (r.env || []).find(e => e[0] === name);
      if (e) values.set(e[1], [...values.get(e[1]) || [], r.name]);
    }
    dl.append(make("dt", {text: name}), make("dd", {}, ...[...values].map(([v, of]) => make("div", {text: values.size > 1 ? v + " (" + few(of) + ")" : v}))));
  }
  $("env").replaceChildren(names.length ? dl : nothing("The records do not say where the experiments ran."));
};
