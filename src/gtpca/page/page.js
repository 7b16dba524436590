// Components, energies, histograms, sliders; and the start of everything.

/** Share of the energy over the number of components. */
function drawEnergy() {
  const { explained, pca, first } = page.energy;
  const line = (name, y, color, symbol, dash, start) => ({
    type: "scatter", mode: "lines+markers", name, x: y.map((_, k) => k + start), y,
    line: { color, dash }, marker: { color, symbol, size: 8 }, hovertemplate: "%{x}: %{y:.1%}",
  });
  const traces = [line("this model", explained, COLOURS.blue, "circle", "solid", first)];
  if (pca) traces.push(line(pca.name, pca.shares, COLOURS.red, "square", "dash", 1));
  const layout = { xaxis: { title: { text: first ? "components" : "components beside the pattern" },
    dtick: explained.length > 12 ? 5 : 1, range: [first - 0.5, explained.length + first - 0.5] } };
  layout.yaxis = { title: { text: "explained share" }, tickformat: ".2~%", rangemode: "tozero" };
  chart(byId("energy"), traces, { ...layout, showlegend: Boolean(pca) });
}

/** What components explain of what is left, beside fits to noise. */
function drawReal() {
  if (!page.real) return;
  const { gains, band, surrogates } = page.real, numbers = gains.map((_, k) => k + 1);
  const points = (name, x, y, marker) => ({ type: "scatter", mode: "markers", name, x, y, marker,
    hovertemplate: "%{x}: %{y:.2%}" });
  const noise = points("noise", surrogates.flatMap((row, k) => row.map(() => k + 1)), surrogates.flat(),
    { color: COLOURS.grey, size: 5 });
  const bar = points("bar of noise", numbers, band, { color: COLOURS.red, size: 18, symbol: "line-ew",
    line: { color: COLOURS.red, width: 3 } });
  const found = points("components", numbers, gains, { color: COLOURS.blue, size: 9 });
  const layout = { xaxis: { title: { text: "component" }, dtick: gains.length > 12 ? 5 : 1,
    range: [0.5, gains.length + 0.5] } };
  layout.yaxis = { title: { text: "share of what is left" }, tickformat: ".2~%", rangemode: "tozero" };
  chart(byId("real"), [noise, bar, found], { ...layout, showlegend: true });
}

/** A card with a name for part k; returns the place of its chart or picture. */
function addCard(k) {
  const { explained } = page.energy, { notes } = page.components;
  const note = notes ? notes[k] : `adds ${percent(explained[k] - (k ? explained[k - 1] : 0))}`;
  const card = element("div", "card"), view = element("div", "view");
  card.append(element("h3", "", partName(k)), element("p", "soft", note), view);
  byId("components").append(card);
  return view;
}

/** What a part of the model is called on its card. */
function partName(k) {
  const name = page.components.names[k];
  return name[0].toUpperCase() + name.slice(1);
}

/** One small chart or picture per component; cards have their width once all are there. */
function drawComponents() {
  const { layout, values } = page.components, rows = rowsOf(values);
  Array.from({ length: rows.length }, (_, k) => addCard(k)).forEach((view, k) => {
    const weights = rows.get(k);
    view.setAttribute("aria-label", partName(k));
    if (layout.kind === "lines") {
      view.setAttribute("role", "img");
      const lines = [{ name: partName(k), values: weights, colour: COLOURS.blue, width: 2 }];
      const named = layout.x_name !== "point";
      const small = { margin: { l: 40, r: 8, t: 6, b: named ? 40 : 26 } };
      drawCurves(view, atOwnTime(layout, k), lines, { x: named ? layout.x_name : "", layout: small });
    } else {
      const scale = aroundZero(reach(weights));
      drawPictures(view, atOwnTime(layout, k), [{ name: partName(k), values: weights, scale }]);
    }
  });
}

/** The layout of component k, with the times of its median pose where it has one. */
function atOwnTime(layout, k) {
  const { later } = page.components;
  return later ? { ...layout, x: layout.x.map((x) => x + later[k]) } : layout;
}

/** Bars over values, which may stand for words, or over bins; those at which too many are stand out. */
function drawBars(host, bars, name, words) {
  const named = words && !bars.width, x = named ? bars.x.map((value) => plain(words[value])) : bars.x;
  const trace = { type: "bar", x, y: bars.counts, marker: { color: COLOURS.blue }, hovertemplate: "%{x:.4~g}: %{y}" };
  if (named) trace.hovertemplate = "%{x}: %{y}";
  if (bars.width) trace.width = bars.width;
  if (bars.flag) trace.marker.color = bars.x.map((_, i) => (bars.flag.bars.includes(i) ? COLOURS.red : COLOURS.blue));
  const xaxis = { title: { text: plain(name) }, ...(named ? { type: "category" } : {}) };
  const layout = { xaxis, yaxis: { title: { text: "samples" } }, bargap: 0.15 };
  chart(host, [trace], layout);
}

const poseHosts = [];

/** Histograms of the poses of one component. */
function drawPoses() {
  const k = byId("pose-component") ? Number(byId("pose-component").value) : 0;
  page.histograms.poses.forEach((pose, j) => {
    const bars = pose.bars[Math.min(k, pose.bars.length - 1)];
    drawBars(poseHosts[j].host, bars, pose.name, pose.words);
    poseHosts[j].note.textContent = bars.flag ? bars.flag.text : "";
  });
}

/** A chart for every pose. */
function startPoses() {
  for (const pose of page.histograms.poses) {
    const host = element("div", "plot short"), note = element("p", "flag"), card = element("div", "bar");
    host.setAttribute("role", "img");
    host.setAttribute("aria-label", `Histogram of ${pose.name}`);
    card.append(host, note);
    byId("poses").append(card);
    poseHosts.push({ host, note });
  }
  const last = element("div", "plot short");
  last.id = "explained-bars";
  last.setAttribute("role", "img");
  last.setAttribute("aria-label", "Histogram of explained shares");
  byId("poses").append(last);
  if (byId("pose-component")) byId("pose-component").addEventListener("change", drawPoses);
  drawPoses();
  drawBars(last, page.histograms.explained, "explained share", null);
  if (page.histograms.probability) {
    const sure = element("div", "plot short");
    sure.id = "probability-bars";
    byId("poses").append(sure);
    drawBars(sure, page.histograms.probability, "probability of the most likely pose", null);
  }
}

const builder = page.builder;  // nothing, if there are no scores
const base = builder ? numbers(builder.base) : null, parts = builder ? rowsOf(builder.parts) : [];
const partRows = Array.from({ length: parts.length }, (_, k) => parts.get(k));

/** The sum of the components in the reference pose: base + sum_k s_k T w_k; a pattern is in the base. */
function built(scores) {
  const sum = Float32Array.from(base);
  scores.forEach((score, k) => {
    if (score === 0) return;
    const part = partRows[k];
    for (let i = 0; i < sum.length; i++) sum[i] += score * part[i];
  });
  return sum;
}

const sliders = [];

/** Draw what the sliders say. */
function drawBuilt() {
  const scores = sliders.map((slider) => Number(slider.input.value));
  sliders.forEach((slider, k) => { slider.output.textContent = short(scores[k]); });
  const values = built(scores), layout = page.samples.layout, host = byId("built");
  if (layout.kind === "lines") {
    const fixed = layout.shape[0] === 1 ? { yaxis: { range: widened(values) } } : {};
    const lines = [{ name: "sample", values, colour: COLOURS.blue, width: 2.2 }];
    drawCurves(host, layout, lines, { x: layout.x_name, names: page.samples.names, layout: fixed });
  } else {
    drawPictures(host, layout, [{ name: "built from the scores", values, scale: page.samples.scale }]);
  }
}

/** The range of the samples, wider if the values leave it: a larger score looks larger. */
function widened(values) {
  let [low, high] = page.samples.range;
  for (const value of values) [low, high] = [Math.min(low, value), Math.max(high, value)];
  const margin = 0.05 * (high - low);
  return [low - margin, high + margin];
}

/** Put the sliders to these scores. */
function setSliders(scores) {
  sliders.forEach((slider, k) => { slider.input.value = String(scores[k]); });
  drawBuilt();
}

/** One labelled slider. */
function addSlider(k) {
  const label = element("label", "slider"), input = element("input"), output = element("output");
  input.type = "range";
  input.id = `score-${k + 1}`;
  [input.min, input.max] = [String(builder.low[k]), String(builder.high[k])];
  input.step = "any";
  input.addEventListener("input", drawBuilt);
  input.addEventListener("keydown", (event) => slideKey(event, input, k));
  label.append(element("span", "", `score ${k + 1}`), input, output);
  byId("sliders").append(label);
  sliders.push({ input, output });
}

/** Arrow keys move a slider by a hundredth of its way: browsers differ where any step goes. */
function slideKey(event, input, k) {
  const steps = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 };
  if (!(event.key in steps)) return;
  event.preventDefault();
  const step = (builder.high[k] - builder.low[k]) / 100;
  input.value = String(Number(input.value) + steps[event.key] * step);
  drawBuilt();
}

/** Sliders and their buttons. */
function startBuilder() {
  if (!builder) return;
  builder.high.forEach((_, k) => addSlider(k));
  byId("typical").addEventListener("click", () => setSliders(builder.typical));
  byId("zero").addEventListener("click", () => setSliders(builder.high.map(() => 0)));
  byId("same").addEventListener("click", () => {
    setSliders(builder.high.map((_, k) => points.scores[chosen.point * points.width + k]));
  });
  setSliders(builder.typical);
}

drawEnergy();
drawReal();
drawComponents();
startSamples();
startBuilder();
startPoses();
startAlignment();
document.body.dataset.ready = "yes";
