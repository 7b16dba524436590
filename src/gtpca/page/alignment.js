// All samples before and after they are brought to the place of the first component.

const MARGIN = { l: 60, r: 76, t: 10, b: 44 };  // the same above and below, with room for a colour bar

/** The values of a heat map; see alignment.py. */
function mapOf(entry) {
  return Float32Array.from(numbers(entry.values), (q) => (q === 255 ? NaN : entry.low + entry.step * q));
}

/** Numbers of a table in rows. */
function inRows(values, rows) {
  const width = values.length / rows;
  return Array.from({ length: rows }, (_, i) => Array.from(values.subarray(i * width, (i + 1) * width)));
}

/** A heat map, one row per sample or per some neighbours, the first pose on top. */
function drawMap(host, given, channel, scale) {
  const { rows, maps, x, name } = given;
  const z = inRows(mapOf(maps[channel]), rows), per = page.alignment.per_row;
  const trace = { type: "heatmap", z, x: Array.from(numbers(x)), y: z.map((_, i) => (i + 0.5) * per),
    zmin: scale.low, zmax: scale.high, colorscale: colourScale(scale.signed ? COLOURS.signed : COLOURS.unsigned),
    colorbar: { thickness: 10, outlinewidth: 0 }, hovertemplate: "%{x:.4~g}: %{z:.4~g}<extra></extra>" };
  const yaxis = { title: { text: `samples by ${plain(page.alignment.pose)}` }, autorange: "reversed", zeroline: false };
  return chart(host, [trace], { xaxis: { title: { text: plain(name) }, zeroline: false }, yaxis, margin: MARGIN });
}

/** The average of all samples, or of each kind, on the scale of both averages. */
function drawMean(host, given, channel, colour, range) {
  const { groups } = page.alignment, x = Array.from(numbers(given.x)), { cycle } = COLOURS;
  const traces = inRows(numbers(given.means[channel]), groups.length).map((y, g) => ({ type: "scatter", mode: "lines", x, y,
    name: groups[g], line: { color: groups.length > 1 ? cycle[g % cycle.length] : colour, width: 2 },
    hovertemplate: "%{x:.4~g}: %{y:.4~g}<extra></extra>" }));
  const xaxis = { title: { text: plain(given.name) }, range: edgesOf(x) };
  return chart(host, traces, { xaxis, yaxis: { title: { text: "average" }, range }, margin: MARGIN, showlegend: groups.length > 1 });
}

/** From half a step before the first position to half a step behind the last, as in a heat map. */
function edgesOf(x) {
  const half = x.length > 1 ? (x[x.length - 1] - x[0]) / (x.length - 1) / 2 : 0.5;
  return [x[0] - half, x[x.length - 1] + half];
}

/** Lowest and highest value of several lists, with a little room. */
function spanOf(lists) {
  let [low, high] = [Infinity, -Infinity];
  for (const list of lists) for (const value of list) {
    if (!Number.isNaN(value)) [low, high] = [Math.min(low, value), Math.max(high, value)];
  }
  const room = 0.06 * (high - low || 1);
  return [low - room, high + room];
}

/** Both heat maps and both averages of the chosen channel. */
function drawAligned() {
  const { before, after } = page.alignment;
  const channel = byId("align-channel") ? Number(byId("align-channel").value) : 0;
  const values = mapOf(before.maps[channel]), signed = values.some((value) => value < 0);
  const scale = signed ? aroundZero(reach(values)) : { signed, low: 0, high: reach(values) };
  const range = spanOf([before, after].map((given) => numbers(given.means[channel])));
  drawMap(byId("map-before"), before, channel, scale);
  drawMap(byId("map-after"), after, channel, scale);
  drawMean(byId("mean-before"), before, channel, COLOURS.grey, range);
  drawMean(byId("mean-after"), after, channel, COLOURS.blue, range);
}

/** The averages of images. */
function drawAverages() {
  const { layouts, means, groups } = page.alignment;
  const pictures = means.map((mean) => groups.map((_, g) => rowsOf(mean).get(g)));
  const scale = page.samples.scale.signed ? aroundZero(Math.max(...pictures[1].map(reach))) : page.samples.scale;
  ["before", "after"].forEach((when, i) => {
    const name = (g) => (groups.length > 1 ? `${groups[g]} ${when} alignment` : `average ${when} alignment`);
    drawPictures(byId(`average-${when}`), layouts[i], pictures[i].map((values, g) => ({ name: name(g), values, scale })));
  });
}

/** Everything in the section of the alignment, if there is one. */
function startAlignment() {
  if (!page.alignment) return;
  if (page.alignment.kind === "pictures") {
    drawAverages();
    return;
  }
  if (byId("align-channel")) byId("align-channel").addEventListener("change", drawAligned);
  drawAligned();
}
