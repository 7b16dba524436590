// The scatter and the chosen sample.

const points = readPoints();
const originals = rowsOf(page.samples.original), rebuilts = rowsOf(page.samples.rebuilt);
const isGap = gapsOf(page.samples.gaps, page.samples.original.size);
const contributions = page.samples.parts ? rowsOf(page.samples.parts) : null;
const divided = page.samples.parts ? Array.from(numbers(page.samples.parts.rows)) : [];
const chosen = { point: 0 };
const FEW = 20;  // points up to which all are shown at first

/** All quantities that an axis of the scatter may show: name and values. */
function quantities() {
  const out = [];
  for (let k = 0; k < points.width; k++) {
    out.push({ name: `score ${k + 1}`, values: column(points.scores, points.width, k) });
  }
  out.push({ name: "sample number", values: Array.from(points.number) });
  out.push({ name: "explained share", values: Array.from(points.explained) });
  for (const pose of points.poses) {
    for (let k = 0; k < pose.width; k++) {
      const name = pose.width > 1 ? `${pose.name}, component ${k + 1}` : pose.name;
      out.push({ name, values: column(pose.values, pose.width, k) });
    }
    if (pose.std) out.push({ name: `${pose.name}, standard deviation`, values: Array.from(pose.std) });
  }
  for (const one of points.sure) out.push({ name: one.name, values: Array.from(one.values) });
  return out;
}

const axes = quantities();

/** Fill the lists of axes, and choose those that are shown first. */
function fillAxes() {
  for (const [id, start] of [["axis-x", page.axes[0]], ["axis-y", page.axes[1]]]) {
    axes.forEach((axis, i) => byId(id).append(new Option(axis.name, String(i))));
    byId(id).value = String(start);
    byId(id).addEventListener("change", () => {
      byId("scatter").figure.part = {};
      drawScatter();
      showMost();
      showZoomed(byId("scatter").figure);
    });
  }
}

/** Where most values lie: without one percent at each end, at least one value, and half as far on both sides. */
function mostOf(values) {
  const sorted = values.filter(Number.isFinite).sort((a, b) => a - b), cut = Math.max(1, Math.floor(0.01 * sorted.length));
  const low = sorted[cut], high = sorted[sorted.length - 1 - cut];
  return [low - (high - low) / 2, high + (high - low) / 2];
}

/** Zoom into the axes of which a few far points would take most, and say that there are more. */
function showMost() {
  const { figure } = byId("scatter"), part = {}, outside = new Set();
  for (const [id, name] of [["axis-x", "xaxis"], ["axis-y", "yaxis"]]) {
    const { values } = axes[byId(id).value], [from, to] = mostOf(values), [low, high] = figure.home[name];
    if (points.n < FEW || to - from <= 0 || (to - from) / (high - low) > 0.3) continue;
    part[name] = [(from - low) / (high - low), (to - low) / (high - low)];
    values.forEach((value, i) => { if (value < from || value > to) outside.add(i); });
  }
  zoomTo(figure, part);
  const said = outside.size === 1 ? "One point lies" : `${outside.size} points lie`;
  byId("scatter-far").textContent = outside.size ? `${said} outside; "Back" shows all.` : "";
}

/** The column of labels that gives the colours, or nothing. */
function colouredBy() {
  const list = byId("colour");
  return list ? points.columns[Number(list.value)] : undefined;
}

/** Points by label, one group for all if there are none or too many. */
function groups() {
  const all = Array.from({ length: points.n }, (_, i) => i), by = colouredBy();
  if (!by || by.values || !by.classes.length) return [{ name: "samples", members: all }];
  return by.classes.map((name) => ({ name, members: all.filter((i) => by.labels[i] === name) }));
}

/** What a sample is called: its number, its id, and its labels. */
function nameOf(i) {
  const id = points.ids ? ` (${points.ids.name} ${points.ids.texts[i]})` : "";
  return `${points.number[i]}${id}`;
}

/** Its labels, each after a separator; the name of a column is said if it is not just "label". */
function labelsOf(i, before) {
  return points.columns.map((one) => `${before}${one.name} ${one.labels[i]}`).join("");
}

/** What the mouse says of a point. */
function hoverText(i) {
  return `sample ${plain(nameOf(i))}${labelsOf(i, "\n").split("\n").map(plain).join("<br>")}`
    + `<br>${percent(points.explained[i])} explained`;
}

/** Colours by a quantity, with a bar beside the scatter. */
function quantityMarker(by) {
  return { color: Array.from(by.values), colorscale: colourScale(COLOURS.quantity), showscale: true,
    colorbar: { title: { text: plain(by.name), side: "right" }, thickness: 12, outlinewidth: 0 } };
}

/** One trace of the scatter. */
function groupTrace(group, g, x, y) {
  const faint = group.members.map((i) => (points.picture[i] < 0 ? 0.3 : 0.75)), by = colouredBy();
  return {
    type: "scatter", mode: "markers", name: plain(group.name), hoverinfo: "text",
    x: group.members.map((i) => x.values[i]), y: group.members.map((i) => y.values[i]),
    customdata: group.members, text: group.members.map(hoverText),
    marker: { size: 7, color: COLOURS.cycle[g % COLOURS.cycle.length],
      symbol: COLOURS.symbols[g % COLOURS.symbols.length], opacity: faint, line: { width: 0 },
      ...(by && by.values ? quantityMarker(by) : {}) },
    zorder: -group.members.length,  // rare labels above common ones
  };
}

/** The ring around the chosen point: a shape, which moves without a new scatter. */
function ring() {
  const x = axes[byId("axis-x").value], y = axes[byId("axis-y").value];
  return [{
    type: "circle", xsizemode: "pixel", ysizemode: "pixel", x0: -8, x1: 8, y0: -8, y1: 8,
    xanchor: x.values[chosen.point], yanchor: y.values[chosen.point], line: { width: 2.5, color: COLOURS.ink },
  }];
}

/** Draw the scatter with the axes that are chosen. */
function drawScatter() {
  const x = axes[byId("axis-x").value], y = axes[byId("axis-y").value];
  const traces = groups().map((group, g) => groupTrace(group, g, x, y));
  const layout = { xaxis: { title: { text: plain(x.name) } }, yaxis: { title: { text: plain(y.name) } } };
  chart(byId("scatter"), traces, { ...layout, shapes: ring(), showlegend: traces.length > 1 });
}

/** Scores and poses of the chosen sample, one row per component, or one for a pattern alone. */
function fillTable(i) {
  const body = byId("codes");
  body.replaceChildren();
  const alone = points.width === 0;
  for (let k = 0; k < Math.max(1, points.width); k++) {
    const row = element("tr");
    const head = element("th", "", alone ? "pattern" : String(k + 1));
    head.scope = "row";
    row.append(head, element("td", "number", alone ? "" : short(points.scores[i * points.width + k])));
    for (const pose of points.poses.filter((one) => k < one.width)) {
      const said = poseText(pose, pose.values[i * pose.width + k]) + spreadText(pose, i, k);
      const cell = element("td", "number", said);
      if (pose.width < points.width) cell.rowSpan = points.width;  // one pose for all components
      row.append(cell);
    }
    body.append(row);
  }
}

/** The sentence that is read aloud when another sample is chosen. */
function tell(i, hint) {
  const said = `Sample ${nameOf(i)}${labelsOf(i, ", ")}: ${percent(points.explained[i])} of its energy is explained.`;
  const sure = points.sure.length ? ` ${likelihoodOf(i)}` : "";
  byId("told").textContent = (hint ? `${hint} ${said}` : said) + sure;
}

/** How sure its pose is, where there is more than one, how likely the sample, and of which kind. */
function likelihoodOf(i) {
  const [probability, likelihood] = points.sure.map((one) => one.values[i]);
  const pose = points.poses.length ? `Its pose has probability ${percent(probability)}; its` : "Its";
  return `${pose} log-likelihood is ${short(likelihood)}.${kindsOf(i)}`;
}

/** The kinds that a sample may be of, if there are several, the most likely first. */
function kindsOf(i) {
  if (!points.kinds) return "";
  const width = points.kinds.length / points.n, share = Array.from(points.kinds.subarray(i * width, (i + 1) * width));
  const order = share.map((_, g) => g).sort((a, b) => share[b] - share[a]);
  const told = order.filter((g, rank) => rank === 0 || share[g] >= 0.001).map((g) => `${g} (${percent(share[g])})`);
  return ` Kind ${told.join(", or ")}.`;
}

/** What each component adds to a sample, if that is asked for. */
function partsOf(row) {
  const box = byId("parts"), place = divided.indexOf(row);
  if (!box || !box.checked || place < 0) return [];
  const count = page.samples.parts.names.length;
  return Array.from({ length: count }, (_, k) => contributions.get(place * count + k));
}

/** Sample, reconstruction and difference. */
function drawSample(i) {
  const row = points.picture[i], host = byId("sample-view");
  byId("no-picture").hidden = row >= 0;
  host.hidden = row < 0;
  if (row < 0) return;
  host.setAttribute("aria-label", `Sample ${nameOf(i)}`);
  if (byId("no-parts")) byId("no-parts").hidden = !byId("parts").checked || divided.includes(row);
  const rebuilt = rebuilts.get(row), layout = page.samples.layout;
  const original = originals.get(row).map((value, j) => (isGap(row, j) ? NaN : value));
  const predicted = original.map((value, j) => (Number.isNaN(value) ? rebuilt[j] : NaN));
  if (layout.kind === "lines") {
    const lines = [
      { name: "sample", values: original, colour: COLOURS.grey, width: 1.5 },
      { name: "reconstruction", values: rebuilt, colour: partsOf(row).length ? COLOURS.ink : COLOURS.blue, width: 2.2 },
    ];
    if (page.samples.gaps) {
      lines.push({ name: "predicted", values: predicted, colour: COLOURS.predicted, width: 2.2, dots: true });
    }
    partsOf(row).forEach((values, k) => lines.push({ name: page.samples.parts.names[k], values,
      colour: COLOURS.cycle[k % COLOURS.cycle.length], width: 1.6 }));
    drawCurves(host, layout, lines, { x: layout.x_name, names: page.samples.names });
    return;
  }
  const scale = page.samples.scale.signed ? aroundZero(reach(original)) : page.samples.scale;
  const rest = original.map((value, j) => value - rebuilt[j]);
  const parts = partsOf(row).map((values, k) => (
    { name: page.samples.parts.names[k], values, scale: residualScale(scale) }));
  drawPictures(host, layout, [
    { name: "sample", values: original, scale },
    { name: page.samples.gaps ? "reconstruction; veiled: predicted" : "reconstruction", values: rebuilt, scale, predicted },
    { name: layout.kind === "colours" ? "what is left; grey is none" : "what is left", values: rest, scale: residualScale(scale) },
    ...parts,
  ]);
}

/** Choose a sample: everything that depends on it is drawn again. */
function choose(i, hint) {
  chosen.point = Math.max(0, Math.min(points.n - 1, i));
  byId("number").value = String(points.number[chosen.point]);
  tell(chosen.point, hint);
  fillTable(chosen.point);
  drawSample(chosen.point);
  Plotly.relayout(byId("scatter"), { shapes: ring() });
}

/** Choose by sample number; if it is not on the page, the nearest one. */
function chooseNumber(wanted) {
  let best = 0;
  points.number.forEach((number, i) => {
    if (Math.abs(number - wanted) < Math.abs(points.number[best] - wanted)) best = i;
  });
  const there = points.number[best] === wanted;
  choose(best, there ? "" : `Sample ${wanted} is not on this page; the nearest one is shown.`);
}

/** The sample with a picture that has the least of some values. */
function leastOf(values) {
  let best = -1;
  for (let i = 0; i < points.n; i++) {
    if (points.picture[i] < 0) continue;
    if (best < 0 || values[i] < values[best]) best = i;
  }
  return best;
}

/** Arrow keys in the scatter. */
function scatterKey(event) {
  const steps = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1, Home: -points.n, End: points.n };
  if (!(event.key in steps) || event.shiftKey) return;
  event.preventDefault();
  choose(chosen.point + steps[event.key]);
}

/** The first sample with a picture. */
function firstPictured() {
  return Math.max(0, points.picture.findIndex((row) => row >= 0));
}

/** The samples of the page as a table: id, labels, scores, poses and the explained share. */
function scoreTable() {
  const columns = [["sample", Array.from(points.number)]];
  if (points.ids) columns.push([points.ids.name, points.ids.texts]);
  for (const one of points.columns) columns.push([one.name, one.labels]);
  for (let k = 0; k < points.width; k++) columns.push([`gtpca${k}`, column(points.scores, points.width, k)]);
  for (const pose of points.poses) {
    for (let k = 0; k < pose.width; k++) {
      const values = column(pose.values, pose.width, k);
      const name = pose.width < points.width ? pose.name : `gtpca${k} ${pose.name}`;
      columns.push([name, pose.words ? values.map((v) => pose.words[v]) : values]);
      if (pose.se) columns.push([`${name} se`, column(pose.se, pose.width, k)]);
    }
    if (pose.std) columns.push([`${pose.name} std`, Array.from(pose.std)]);
  }
  for (const one of points.sure) columns.push([one.name, Array.from(one.values)]);
  columns.push(["explained share", Array.from(points.explained)]);
  const lines = [columns.map(([name]) => field(name))];
  for (let i = 0; i < points.n; i++) lines.push(columns.map(([, values]) => field(values[i])));
  return lines.map((line) => `${line.join(",")}\n`).join("");
}

/** Everything in the section of the samples. */
function startSamples() {
  fillAxes();
  for (const pose of points.poses) {
    const head = element("th", "number", pose.name);
    head.scope = "col";
    byId("codes-head").append(head);
  }
  chosen.point = firstPictured();
  if (byId("colour")) byId("colour").addEventListener("change", drawScatter);
  if (byId("parts")) byId("parts").addEventListener("change", () => drawSample(chosen.point));
  byId("download").addEventListener("click", () => saveFile(new Blob([scoreTable()], { type: "text/csv" }), "scores.csv"));
  drawScatter();
  showMost();
  byId("scatter").on("plotly_click", (event) => choose(event.points[0].customdata));
  byId("scatter").addEventListener("keydown", scatterKey);
  byId("number").addEventListener("change", () => {
    if (byId("number").value) chooseNumber(Math.round(Number(byId("number").value)));
  });
  byId("previous").addEventListener("click", () => choose(chosen.point - 1));
  byId("next").addEventListener("click", () => choose(chosen.point + 1));
  byId("least").addEventListener("click", () => choose(leastOf(points.explained)));
  if (byId("least-sure")) byId("least-sure").addEventListener("click", () => choose(leastOf(points.sure[2].values)));
  choose(chosen.point);
}
