// The page of a recording: its trace with events, templates, amplitudes, intervals and piles.

const { step, zero, length: WINDOW, unit } = page;
const trace = rowsOf(page.trace), traces = Array.from({ length: trace.length }, (_, c) => trace.get(c));
const weights = page.channels.map((channel) => numbers(channel.weights));
const found = Object.fromEntries(["start", "component", "scores", "gain", "peak"].map((name) => [name, numbers(page.events[name])]));
const WIDTH = page.events.width, DRAWN = traces[0].length;
const shown = { start: 0, channel: 0 };
page.trace.gaps.forEach((gaps, c) => { for (const [from, to] of gaps) traces[c].fill(NaN, from, to); });

/** The time of a point. */
function timeOf(point) {
  return zero + step * point;
}

/** Colour and mark of a template. */
function styleOf(k) {
  const { cycle, symbols } = COLOURS;
  return { color: cycle[k % cycle.length], symbol: symbols[k % symbols.length] };
}

/** What an axis of time says. */
function timeTitle() {
  return { text: `time (${plain(unit)})` };
}

/** How many points the trace shows. */
function pieceLength() {
  return Math.min(DRAWN, Number(byId("windows").value) * WINDOW);
}

/** Numbers of the events that are seen from one point on, up to another. */
function eventsIn(from, to) {
  const out = [];
  for (let i = 0; i < found.start.length && found.start[i] < to; i++) {
    if (found.start[i] > from - WINDOW) out.push(i);
  }
  return out;
}

/** Add event i to a curve that begins at a point; what was empty becomes a number. */
function addEvent(curve, from, i) {
  const W = weights[shown.channel], own = found.component[i];
  for (let l = 0; l < WINDOW; l++) {
    const at = found.start[i] - from + l;
    if (at < 0 || at >= curve.length) continue;
    let value = 0;
    for (let q = 0; q < WIDTH; q++) value += found.scores[i * WIDTH + q] * W[(page.shared ? q : own) * WINDOW + l];
    curve[at] = (curve[at] === null ? 0 : curve[at]) + value;
  }
}

/** What an event is, in words. */
function eventText(i) {
  const scores = Array.from(found.scores.subarray(i * WIDTH, (i + 1) * WIDTH), short).join(", ");
  return `${page.names[found.component[i]]}: score ${scores}, gain over price ${short(found.gain[i])}`;
}

/** The recording from one point on, with its events. */
function drawTrace() {
  const from = shown.start, to = from + pieceLength(), values = traces[shown.channel].subarray(from, to);
  const x = Array.from(values, (_, i) => timeOf(from + i)), here = eventsIn(from, to);
  const lines = [{ type: "scatter", mode: "lines", name: "recording", x, y: Array.from(values, (v) => (Number.isNaN(v) ? null : v)),
    line: { color: COLOURS.grey, width: 1 }, hovertemplate: "%{x:.6~g}: %{y:.4~g}<extra></extra>" }];
  const [low, high] = spanOf([values]), top = high + 0.03 * (high - low);
  page.names.forEach((name, k) => {
    const own = here.filter((i) => found.component[i] === k), curve = new Array(x.length).fill(null), { color, symbol } = styleOf(k);
    own.forEach((i) => addEvent(curve, from, i));
    const marked = own.filter((i) => found.start[i] >= from);
    lines.push({ type: "scatter", mode: "lines", name, legendgroup: name, x, y: curve, line: { color, width: 2 }, hoverinfo: "skip" });
    lines.push({ type: "scatter", mode: "markers", name, legendgroup: name, showlegend: false, x: marked.map((i) => found.peak[i]),
      y: marked.map(() => top), marker: { color, symbol, size: 8 }, text: marked.map(eventText), hovertemplate: "%{text}<extra></extra>" });
  });
  const title = page.channels.length > 1 ? channelName(page.channels[shown.channel].name) : "";
  const range = [timeOf(from), timeOf(from + x.length - 1)];
  chart(byId("trace"), lines, { xaxis: { title: timeTitle(), range, zeroline: false }, showlegend: page.names.length > 1,
    yaxis: { title: { text: title }, range: [Math.min(low, ...values.filter((v) => !Number.isNaN(v))), top + 0.05 * (high - low)] } });
  byId("from").value = String(Number(range[0].toPrecision(9)));
  const count = here.filter((i) => found.start[i] >= from).length;
  byId("told").textContent = `${short(range[0])} to ${short(range[1])} ${unit}: ${count} event${count === 1 ? "" : "s"}`;
}

/** The least and largest values of all parts of the recording, and where the trace is. */
function drawOverview() {
  const ends = numbers(page.overview.ends), c = shown.channel, last = ends.length - 1;
  const x = Array.from({ length: last }, (_, i) => timeOf((ends[i] + ends[i + 1]) / 2));
  const low = page.overview.low[c], high = page.overview.high[c], around = { x: [], y: [] };
  for (let i = 0; i < last;) {  // an outline around each part that was observed
    let end = i;
    while (end < last && low[end] !== null) end++;
    const seen = Array.from({ length: end - i }, (_, j) => i + j), back = [...seen].reverse();
    around.x.push(...seen.map((j) => x[j]), ...back.map((j) => x[j]), null);
    around.y.push(...seen.map((j) => low[j]), ...back.map((j) => high[j]), null);
    i = end + 1;
  }
  const lines = [{ type: "scatter", mode: "lines", ...around, fill: "toself", fillcolor: COLOURS.line, hoveron: "points",
    line: { color: COLOURS.grey, width: 1 }, hovertemplate: "%{x:.6~g}: %{y:.4~g}<extra></extra>" }];
  const range = [timeOf(0), timeOf(page.size)], from = timeOf(shown.start), to = timeOf(shown.start + pieceLength());
  const box = { type: "rect", xref: "x", yref: "paper", x0: from, x1: to, y0: 0, y1: 1, line: { color: COLOURS.blue, width: 2 } };
  chart(byId("overview"), lines, { xaxis: { title: timeTitle(), range, zeroline: false }, shapes: [box] });
}

/** Show the recording from a point on. */
function lookAt(point) {
  shown.start = Math.max(0, Math.min(DRAWN - pieceLength(), Math.round(point)));
  if (byId("trace").figure) byId("trace").figure.part = {};
  drawTrace();
  drawOverview();
}

/** Show an event in the middle of the trace. */
function lookAtStart(start) {
  lookAt(start + WINDOW / 2 - pieceLength() / 2);
}

/** The first event after the middle of the trace; the first of all behind the last. */
function nextEvent() {
  const middle = shown.start + pieceLength() / 2 - WINDOW / 2, i = found.start.findIndex((start) => start > middle + 0.5);
  lookAtStart(found.start[Math.max(0, i)]);
}

/** The event with the least gain over its price. */
function leastSure() {
  let least = 0;
  found.gain.forEach((gain, i) => { if (gain < found.gain[least]) least = i; });
  lookAtStart(found.start[least]);
}

/** The events of the page as a table. */
function eventTable() {
  const head = ["start", `peak (${unit})`, "component", ...Array.from({ length: WIDTH }, (_, q) => (WIDTH > 1 ? `score${q}` : "score")), "gain"];
  const lines = Array.from(found.start, (start, i) => [start, found.peak[i], found.component[i],
    ...found.scores.subarray(i * WIDTH, (i + 1) * WIDTH), found.gain[i]]);
  return [head, ...lines].map((line) => `${line.map(field).join(",")}\n`).join("");
}

/** A card with a chart or a picture for each template. */
function drawTemplates() {
  const { layout, values } = page.templates, rows = rowsOf(values);
  const cards = Array.from({ length: rows.length }, (_, k) => {
    const card = element("div", "card"), view = element("div", "view"), count = page.counts[k];
    card.append(element("h3", "", `Template ${k + 1}`));
    if (count !== undefined && !page.shared) card.append(element("p", "soft", `${count} event${count === 1 ? "" : "s"}`));
    card.append(view);
    view.setAttribute("aria-label", `Template ${k + 1}`);
    byId("templates").append(card);
    return view;
  });
  cards.forEach((view, k) => {
    const weight = rows.get(k);
    if (layout.kind === "lines") {
      view.setAttribute("role", "img");
      const named = layout.x_name !== "point", colour = page.shared ? COLOURS.blue : styleOf(k).color;
      const small = { margin: { l: 40, r: 8, t: 6, b: named ? 40 : 26 } };
      drawCurves(view, layout, [{ name: `Template ${k + 1}`, values: weight, colour, width: 2 }],
        { x: named ? layout.x_name : "", layout: small });
    } else {
      drawPictures(view, layout, [{ name: `Template ${k + 1}`, values: weight, scale: aroundZero(reach(weight)) }]);
    }
  });
}

/** Scores over time; a click shows the event. */
function drawAmplitudes() {
  const host = byId("amplitudes"), given = page.amplitudes, time = numbers(given.time), own = numbers(given.component);
  const scores = numbers(given.scores), start = numbers(given.start), q = byId("score") ? Number(byId("score").value) : 0;
  const lines = page.names.map((name, k) => {
    const mine = Array.from(own.keys()).filter((i) => own[i] === k);
    return { type: "scatter", mode: "markers", name, x: mine.map((i) => time[i]), y: mine.map((i) => scores[i * WIDTH + q]),
      customdata: mine.map((i) => start[i]), marker: { ...styleOf(k), size: 5 }, hovertemplate: "%{x:.6~g}: %{y:.4~g}<extra></extra>" };
  });
  const isNew = !host.figure;
  chart(host, lines, { xaxis: { title: timeTitle() }, yaxis: { title: { text: "score" }, rangemode: "tozero" }, showlegend: lines.length > 1 });
  if (isNew) host.on("plotly_click", (event) => lookAtStart(event.points[0].customdata));
}

/** Histograms of the times from one event to the next. */
function drawIntervals() {
  const { edges, counts } = page.intervals;
  const x = edges.slice(1).map((edge, i) => (edge + edges[i]) / 2);
  const lines = counts.map((count, k) => ({ type: "scatter", mode: "lines", name: page.names[k], x, y: count,
    line: { color: styleOf(k).color, width: 2, shape: "hvh" }, hovertemplate: "%{x:.4~g}: %{y}<extra></extra>" }));
  chart(byId("intervals"), lines, { xaxis: { title: { text: `to the next event (${plain(unit)})` }, range: [0, edges[edges.length - 1]] },
    yaxis: { title: { text: "events" }, rangemode: "tozero" }, showlegend: lines.length > 1 });
}

/** Windows of the events of a template, and their median. */
function drawPile() {
  const k = byId("pile") ? Number(byId("pile").value) : page.piles.findIndex((pile) => pile), pile = page.piles[k];
  const c = shown.channel, values = mapOf(pile.maps[c]), x = Array.from(numbers(pile.x)), z = inRows(values, pile.rows);
  const signed = values.some((value) => value < 0), most = reach(values);
  const scale = signed ? aroundZero(most) : { signed, low: 0, high: most };
  const map = { type: "heatmap", z, x, y: z.map((_, i) => (i + 0.5) * pile.per_row), zmin: scale.low, zmax: scale.high,
    colorscale: colourScale(signed ? COLOURS.signed : COLOURS.unsigned), colorbar: { thickness: 10, outlinewidth: 0 },
    hovertemplate: "%{x:.4~g}: %{z:.4~g}<extra></extra>" };
  const title = { text: `from the start of the event (${plain(unit)})` };
  chart(byId("pile-map"), [map], { xaxis: { title, zeroline: false }, margin: MARGIN,
    yaxis: { title: { text: "events by time" }, autorange: "reversed", zeroline: false } });
  const [low, middle, high] = inRows(numbers(pile.bands[c]), 3), { color } = styleOf(k);
  const line = (y, more) => ({ type: "scatter", mode: "lines", x, y, line: { color, width: 0 }, hoverinfo: "skip", ...more });
  const bands = [line(low, {}), line(high, { fill: "tonexty", fillcolor: COLOURS.line }),
    line(middle, { line: { color, width: 2 }, hoverinfo: "all", hovertemplate: "%{x:.4~g}: %{y:.4~g}<extra></extra>" })];
  chart(byId("pile-bands"), bands, { xaxis: { title, range: edgesOf(x) }, yaxis: { title: { text: "recording" } }, margin: MARGIN });
}

/** Do something whenever a control changes, or is clicked; some are not on every page. */
function on(id, name, act) {
  if (byId(id)) byId(id).addEventListener(name, act);
}

/** Everything, and what the controls do. */
function start() {
  lookAt(found.start.length ? found.start[0] - WINDOW : 0);
  byId("overview").on("plotly_click", (event) => lookAt((event.points[0].x - zero) / step - pieceLength() / 2));
  on("channel", "change", () => {
    shown.channel = Number(byId("channel").value);
    lookAt(shown.start);
    if (page.piles.some((pile) => pile)) drawPile();
  });
  on("from", "change", () => { if (byId("from").value) lookAt((Number(byId("from").value) - zero) / step); });
  on("windows", "change", () => lookAt(shown.start));
  on("earlier", "click", () => lookAt(shown.start - 0.8 * pieceLength()));
  on("later", "click", () => lookAt(shown.start + 0.8 * pieceLength()));
  on("next-event", "click", nextEvent);
  on("least", "click", leastSure);
  on("download", "click", () => saveFile(new Blob([eventTable()], { type: "text/csv" }), "events.csv"));
  on("score", "change", drawAmplitudes);
  on("pile", "change", drawPile);
  drawTemplates();
  if (byId("amplitudes")) drawAmplitudes();
  if (page.intervals) drawIntervals();
  if (byId("pile-map")) drawPile();
  document.body.dataset.ready = "yes";
}

start();
