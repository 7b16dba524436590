// Drawing: charts with plotly, pictures on canvases.

const INK = "#1b1b1b", SOFT = "#5c5c5c", LINE = "#d9d9d9";
// Okabe and Ito's colours, told apart with every kind of colour vision.
const BLUE = "#0072B2", RED = "#D55E00", GREY = "#8a8a8a";
const COLOURS = [BLUE, "#E69F00", "#009E73", "#CC79A7", RED, "#56B4E9", "#000000", "#B0A000", "#7F7F7F", "#7A3E00"];
const SYMBOLS = ["circle", "square", "diamond", "triangle-up", "cross", "x", "star",
  "hexagon", "triangle-down", "pentagon"];
const LOW_END = [0, 84, 150], HIGH_END = [176, 66, 0];
const FINE = window.matchMedia("(pointer: fine)").matches;
const CONFIG = { responsive: true, displayModeBar: false, displaylogo: false };

/** An element with a class and a text. */
function element(tag, className, text) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

/** The common look of all charts. */
function look(extra) {
  const axis = { gridcolor: "#ececec", zerolinecolor: LINE, linecolor: LINE, automargin: true };
  const layout = {
    margin: { l: 52, r: 12, t: 10, b: 44 }, paper_bgcolor: "#fff", plot_bgcolor: "#fff",
    font: { family: "system-ui, -apple-system, 'Segoe UI', sans-serif", size: 13, color: INK },
    hovermode: "closest", dragmode: FINE ? "zoom" : false, showlegend: false,
    hoverlabel: { bgcolor: "#fff", align: "left", bordercolor: SOFT, font: { color: INK } },
    legend: { orientation: "h", x: 0, y: 1.02, yanchor: "bottom", itemsizing: "constant" }, ...extra,
  };
  for (const name of Object.keys(layout)) {
    if (/^[xy]axis/.test(name)) layout[name] = { ...axis, ...layout[name] };
  }
  return layout;
}

/** Draw or redraw a chart. */
function chart(host, traces, layout, config) {
  return Plotly.react(host, traces, look(layout), { ...CONFIG, ...config });
}

/** Positions of the drawn points of a curve, in points of the sample. */
function positions(layout) {
  const count = layout.shape[1], factor = layout.factor;
  return Array.from({ length: count }, (_, i) => i * factor + (factor - 1) / 2);
}

/** Curves, one row of the chart per channel. `lines` is a list of {name, values, colour, width}. */
function drawCurves(host, layout, lines, options) {
  const [channels, count] = layout.shape, x = positions(layout), traces = [];
  const shape = { xaxis: { title: { text: options.x || "" }, anchor: `y${channels > 1 ? channels : ""}` } };
  for (let c = 0; c < channels; c++) {
    const id = c ? String(c + 1) : "", gap = channels > 1 ? 0.04 : 0;
    const top = 1 - c / channels, bottom = 1 - (c + 1) / channels + gap;
    shape[`yaxis${id}`] = { domain: [bottom, top], nticks: channels > 1 ? 4 : 6,
      title: { text: channels > 1 ? `ch. ${layout.channels[c]}` : "", font: { size: 12 } } };
    for (const line of lines) {
      traces.push({ type: "scatter", mode: "lines", name: line.name, x, yaxis: `y${id}`,
        y: Array.from(line.values.subarray(c * count, (c + 1) * count)),
        line: { color: line.colour, width: line.width }, showlegend: c === 0, legendgroup: line.name,
        text: options.names ? options.names.map(plain) : undefined,
        hovertemplate: options.names ? "%{text}: %{y:.4~g}" : "%{x}: %{y:.4~g}" });
    }
  }
  host.classList.add("plot");
  return chart(host, traces, { ...shape, showlegend: lines.length > 1, ...options.layout }, options.config);
}

/** The colour of a value; `scale` is {low, high, signed, mixed}. */
function shade(value, scale) {
  if (!scale.signed) {
    const share = Math.min(1, Math.max(0, (value - scale.low) / (scale.high - scale.low)));
    const grey = 255 * (1 - share);
    return [grey, grey, grey];
  }
  const size = Math.min(1, Math.abs(value) / scale.high), end = value < 0 ? LOW_END : HIGH_END;
  return end.map((part) => 255 + size * (part - 255));
}

/** One of three colours: 0 to 255, or around the middle if the values have signs. */
function level(value, scale) {
  if (scale.signed) return 127.5 + 127.5 * value / scale.high;
  return 255 * (value - scale.low) / (scale.high - scale.low);
}

/** A picture, one screen point per value; the style enlarges it. */
function drawCanvas(canvas, layout, values, scale) {
  const [height, width] = layout.shape, colours = layout.kind === "colours";
  canvas.width = width;
  canvas.height = height;
  const image = new ImageData(width, height);
  for (let i = 0; i < width * height; i++) {
    const colour = colours
      ? [0, 1, 2].map((c) => level(values[3 * i + c], scale)) : shade(values[i], scale);
    image.data.set([...colour, 255], 4 * i);
  }
  canvas.getContext("2d").putImageData(image, 0, 0);
}

/** Largest absolute value, never 0. */
function reach(values) {
  let most = 1e-12;
  for (const value of values) most = Math.max(most, Math.abs(value));
  return most;
}

/** The scale of values with signs. */
function signedScale(values) {
  return { signed: true, high: reach(values) };
}

/** The scale that all samples share. */
function sampleScale() {
  const given = page.samples;
  const high = given.signed ? Math.max(Math.abs(given.low), Math.abs(given.high)) : given.high;
  return { signed: given.signed, low: given.low, high };
}

/** Pictures side by side, with a caption each; canvases are made once and used again. */
function drawPictures(host, layout, pictures) {
  host.classList.add("pictures");
  host.classList.toggle("stacked", layout.rows);
  while (host.children.length < pictures.length) {
    const figure = element("figure");
    const canvas = element("canvas");
    canvas.setAttribute("role", "img");
    figure.append(canvas, element("figcaption"));
    host.append(figure);
  }
  pictures.forEach((picture, i) => {
    const figure = host.children[i];
    drawCanvas(figure.firstChild, layout, picture.values, picture.scale);
    figure.firstChild.setAttribute("aria-label", picture.name);
    figure.lastChild.textContent = picture.name;
  });
}
