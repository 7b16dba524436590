// Drawing: charts with plotly, pictures on canvases.

const COLOURS = page.palette;  // see palette.py
const PREDICTED = rgb(COLOURS.predicted);
const SIGNED = COLOURS.signed.map(rgb), UNSIGNED = COLOURS.unsigned.map(rgb), GAP = rgb(COLOURS.grey);
const FINE = !window.matchMedia("(pointer: coarse)").matches;
const CONFIG = { responsive: true, displayModeBar: false, displaylogo: false, doubleClick: false };

/** Whether a part of a layout is an axis. */
function isAxis(name) {
  return /^[xy]axis/.test(name);
}

/** Red, green and blue of "#rrggbb". */
function rgb(colour) {
  return [1, 3, 5].map((i) => parseInt(colour.slice(i, i + 2), 16));
}

/** The element with an id. */
function byId(id) {
  return document.getElementById(id);
}

/** An element with a class and a text. */
function element(tag, className, text) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

/** The common look of all charts. */
function look(extra) {
  const axis = { gridcolor: COLOURS.grid, zerolinecolor: COLOURS.line, linecolor: COLOURS.line, automargin: true };
  const layout = {
    margin: { l: 52, r: 12, t: 10, b: 44 }, paper_bgcolor: "#fff", plot_bgcolor: "#fff",
    font: { family: "system-ui, -apple-system, 'Segoe UI', sans-serif", size: 13, color: COLOURS.ink },
    hovermode: "closest", dragmode: FINE ? "zoom" : false, showlegend: false,
    hoverlabel: { bgcolor: "#fff", align: "left", bordercolor: COLOURS.soft, font: { color: COLOURS.ink } },
    legend: { orientation: "h", x: 0, y: 1.02, yanchor: "bottom", itemsizing: "constant" }, ...extra,
  };
  for (const name of Object.keys(layout)) {
    if (isAxis(name)) layout[name] = { ...axis, ...layout[name] };
  }
  return layout;
}

/** Draw or redraw a chart; it stays zoomed. */
function chart(host, traces, layout) {
  const isNew = !host.figure, figure = framed(host, () => chartFigure(host, traces)), looked = look(layout);
  Object.assign(looked, Object.fromEntries(Object.entries(rangesOf(figure)).map(
    ([axis, range]) => [axis, { ...looked[axis], range, autorange: false }])));
  figure.redraw = () => chart(host, traces, layout);
  const drawn = Plotly.react(host, traces, looked, CONFIG);
  for (const axis of Object.keys(looked).filter((name) => isAxis(name) && !figure.part[name])) {
    figure.home[axis] = Array.from(host._fullLayout[axis].range);
  }
  if (isNew) watchChart(host);
  return drawn;
}

/** A chart as a figure, see figures.js; `home` are the ranges of its axes where nothing is zoomed. */
function chartFigure(host, traces) {
  const plane = traces[0].type === "heatmap" || traces[0].mode === "markers";
  const show = () => {
    const ranges = Object.entries(rangesOf(host.figure)).map(([axis, range]) => [`${axis}.range`, range]);
    return ranges.length ? Plotly.relayout(host, Object.fromEntries(ranges)) : host.figure.redraw();
  };
  return { home: {}, zooms: plane ? ["xaxis", "yaxis"] : ["xaxis"], show, kind: "SVG",
    grabs: (event) => event.pointerType === "touch" && !FINE,
    area: () => areaOf(host), file: () => drawingOf(host) };
}

/** The ranges of the axes that are zoomed. */
function rangesOf({ home, part }) {
  return Object.fromEntries(Object.entries(part).map(([axis, shares]) => {
    const [low, high] = home[axis];
    return [axis, shares.map((share) => low + share * (high - low))];
  }));
}

/** The box of a chart's axes on the screen. */
function areaOf(host) {
  const { left, top } = host.getBoundingClientRect(), { l, t, w, h } = host._fullLayout._size;
  return { left: left + l, top: top + t, width: w, height: h };
}

/** A chart as it is shown, in a file. */
async function drawingOf(host) {
  const size = { width: host.clientWidth, height: host.clientHeight };
  const text = await Plotly.toImage(host, { format: "svg", imageDataOnly: true, ...size });
  return new Blob([text], { type: "image/svg+xml" });
}

/** Remember what the mouse zooms; a double click is the way back. Plotly takes fingers that follow each
 *  other quickly for one, so that they have the button alone. */
function watchChart(host) {
  const { figure } = host;
  host.on("plotly_relayout", (change) => {
    const names = Object.keys(change).filter((name) => name.endsWith(".range[0]")).map((name) => name.split(".")[0]);
    for (const axis of names) {
      const [low, high] = figure.home[axis];
      figure.part[axis] = host._fullLayout[axis].range.map((value) => (value - low) / (high - low));
    }
    showZoomed(figure);
  });
  if (FINE) host.on("plotly_doubleclick", () => back(figure));
}

/** What an axis says of a channel: its name, or its number. */
function channelName(name) {
  return /^\d+$/.test(name) ? `ch. ${name}` : plain(name);
}

/** The colours of a list as plotly wants them. */
function colourScale(colours) {
  return colours.map((colour, i) => [i / (colours.length - 1), colour]);
}

/** Curves, one row of the chart per channel. `lines` is a list of {name, values, colour, width}. */
function drawCurves(host, layout, lines, options) {
  const [channels, count] = layout.shape, x = layout.x, traces = [];
  const shape = { xaxis: { title: { text: options.x || "" }, anchor: `y${channels > 1 ? channels : ""}` } };
  for (let c = 0; c < channels; c++) {
    const id = c ? String(c + 1) : "", gap = channels > 1 ? 0.04 : 0;
    const top = 1 - c / channels, bottom = 1 - (c + 1) / channels + gap;
    shape[`yaxis${id}`] = { domain: [bottom, top], nticks: channels > 1 ? Math.max(3, Math.round(12 / channels)) : 6,
      title: { text: channels > 1 ? channelName(layout.names[c]) : "", font: { size: 12 } } };
    for (const line of lines) {
      traces.push({ type: "scatter", mode: line.dots ? "lines+markers" : "lines", marker: { size: 4 }, name: line.name, x, yaxis: `y${id}`,
        y: Array.from(line.values.subarray(c * count, (c + 1) * count)),
        line: { color: line.colour, width: line.width }, showlegend: c === 0, legendgroup: line.name,
        text: options.names ? options.names.map(plain) : undefined,
        hovertemplate: options.names ? "%{text}: %{y:.4~g}" : "%{x}: %{y:.4~g}" });
    }
  }
  host.classList.add("plot");
  return chart(host, traces, { ...shape, showlegend: lines.length > 1, ...options.layout });
}

/** How far up the scale {low, high, signed} a value is, from 0 to 1. */
function shareOf(value, scale) {
  return Math.min(1, Math.max(0, (value - scale.low) / (scale.high - scale.low)));
}

/** The colour of a value. */
function shade(value, scale) {
  const stops = scale.signed ? SIGNED : UNSIGNED, place = shareOf(value, scale) * (stops.length - 1);
  const i = Math.min(Math.floor(place), stops.length - 2);
  return stops[i].map((part, c) => part + (place - i) * (stops[i + 1][c] - part));
}

/** The colour of three values. */
function mixed(values, scale) {
  return Array.from(values, (value) => 255 * shareOf(value, scale));
}

/** Whether a point of tiles lies between them, or where there is none. */
function inGap(layout, row, column) {
  const [height, width] = layout.tile.map((size) => size + 1), across = (layout.shape[1] + 1) / width;
  const number = Math.floor(row / height) * across + Math.floor(column / width);
  return row % height === height - 1 || column % width === width - 1 || number >= layout.channels.length;
}

/** A colour under the veil of what was predicted. */
function veiled(colour) {
  return colour.map((part, c) => 0.65 * part + 0.35 * PREDICTED[c]);
}

/** A picture, one screen point per value; the style enlarges it. Grey is what is not there. */
function drawCanvas(canvas, layout, values, scale, predicted) {
  const [height, width] = layout.shape, colours = layout.kind === "colours";
  canvas.width = width;
  canvas.height = height;
  const image = new ImageData(width, height);
  for (let i = 0; i < width * height; i++) {
    const gap = layout.tile && inGap(layout, Math.floor(i / width), i % width);
    const first = colours ? 3 * i : i, missing = gap || Number.isNaN(values[first]);
    const colour = missing ? GAP : colours ? mixed(values.subarray(first, first + 3), scale) : shade(values[i], scale);
    const veil = predicted && !missing && !Number.isNaN(predicted[first]);
    image.data.set([...(veil ? veiled(colour) : colour), 255], 4 * i);
  }
  canvas.getContext("2d").putImageData(image, 0, 0);
}

/** Largest absolute value, never 0. */
function reach(values) {
  let most = 0;
  for (const value of values) if (!Number.isNaN(value)) most = Math.max(most, Math.abs(value));
  return most || 1;
}

/** The scale from -high to high. */
function aroundZero(high) {
  return { signed: true, low: -high, high };
}

/** The scale of differences between values on a scale. */
function residualScale(scale) {
  return scale.signed ? scale : aroundZero(scale.high - scale.low);
}

/** Say where the part of a picture of rows that is shown begins and ends. */
function writeEnds(line, { x, x_name }, [from, to]) {
  const last = Math.max(0, Math.ceil(to * x.length - 1e-6) - 1), first = Math.min(last, Math.floor(from * x.length + 1e-6));
  [short(x[first]), x_name, short(x[last])].forEach((text, i) => { line.children[i].textContent = text; });
}

/** A picture in its window, with a place for where it begins and ends, and a caption. */
function pictureIn(layout) {
  const figure = element("figure"), opening = element("div", "window"), canvas = element("canvas");
  canvas.setAttribute("role", "img");
  opening.append(canvas);
  figure.append(opening, element("figcaption"));
  if (layout.kind === "rows") {
    const ends = element("div", "ends");
    ends.append(element("span"), element("span"), element("span"));
    opening.after(ends);
  }
  return figure;
}

/** Pictures side by side, with a caption each; canvases are made once and used again. */
function drawPictures(host, layout, pictures) {
  host.classList.add("pictures");
  host.classList.toggle("stacked", layout.kind === "rows");
  while (host.children.length < pictures.length) host.append(pictureIn(layout));
  while (host.children.length > pictures.length) host.lastChild.remove();
  pictures.forEach((picture, i) => {
    const figure = host.children[i], canvas = figure.querySelector("canvas");
    drawCanvas(canvas, layout, picture.values, picture.scale, picture.predicted);
    canvas.setAttribute("aria-label", picture.name);
    figure.lastChild.textContent = picture.name;
  });
  framed(host, () => pictureFigure(host, layout)).show();
}

/** Pictures as a figure, see figures.js: all of them show the same part. */
function pictureFigure(host, layout) {
  const show = () => showPart(host, layout, host.figure.part);
  const area = (target) => (target.closest(".window") || host.querySelector(".window")).getBoundingClientRect();
  host.addEventListener("dblclick", (event) => (isZoomed(host.figure) ? back(host.figure)
    : zoomBy(host.figure, 1 / 4, placeIn(area(event.target), event))));
  return { zooms: ["x", "y"], show, area, grabs: () => true, kind: "PNG", file: () => pictureOf(host) };
}

/** Show a part of all pictures. */
function showPart(host, layout, { x = WHOLE, y = WHOLE }) {
  host.style.setProperty("--zoom", String(1 / (x[1] - x[0])));
  host.style.setProperty("--left", String(x[0]));
  host.style.setProperty("--top", String(1 - y[1]));
  for (const line of host.querySelectorAll(".ends")) writeEnds(line, layout, x);
}

/** Pictures with their captions as they are shown, in a file. */
function pictureOf(host) {
  const box = host.getBoundingClientRect(), larger = Math.max(2, 1200 / box.width);
  const sheet = element("canvas"), context = sheet.getContext("2d");
  [sheet.width, sheet.height] = [Math.ceil(larger * box.width), Math.ceil(larger * box.height)];
  context.fillStyle = "#fff";
  context.fillRect(0, 0, sheet.width, sheet.height);
  context.setTransform(larger, 0, 0, larger, -larger * box.left, -larger * box.top);
  for (const opening of host.querySelectorAll(".window")) copyPicture(context, host, opening);
  for (const text of host.querySelectorAll("figcaption, .ends span")) copyText(context, text);
  return new Promise((resolve) => { sheet.toBlob(resolve, "image/png"); });
}

/** What is seen of a picture, where it stands on the screen. */
function copyPicture(context, host, opening) {
  const canvas = opening.firstChild, { left, top, width, height } = opening.getBoundingClientRect();
  const { x = WHOLE, y = WHOLE } = host.figure.part;
  context.imageSmoothingEnabled = host.classList.contains("stacked");
  context.drawImage(canvas, x[0] * canvas.width, (1 - y[1]) * canvas.height, (x[1] - x[0]) * canvas.width,
    (y[1] - y[0]) * canvas.height, left, top, width, height);
}

/** A text where it stands on the screen, in one line. */
function copyText(context, text) {
  const { left, top, width } = text.getBoundingClientRect(), { fontSize, fontFamily, color } = getComputedStyle(text);
  [context.font, context.fillStyle, context.textBaseline] = [`${fontSize} ${fontFamily}`, color, "top"];
  if (width) context.fillText(text.textContent, left, top, width);
}
