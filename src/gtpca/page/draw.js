// Drawing: charts with plotly, pictures on canvases.

const COLOURS = page.palette;  // see palette.py
const PREDICTED = rgb(COLOURS.predicted);
const SIGNED = COLOURS.signed.map(rgb), UNSIGNED = COLOURS.unsigned.map(rgb), GAP = rgb(COLOURS.grey);
const FINE = window.matchMedia("(pointer: fine)").matches;
const CONFIG = { responsive: true, displayModeBar: false, displaylogo: false };

/** Red, green and blue of "#rrggbb". */
function rgb(colour) {
  return [1, 3, 5].map((i) => parseInt(colour.slice(i, i + 2), 16));
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
    if (/^[xy]axis/.test(name)) layout[name] = { ...axis, ...layout[name] };
  }
  return layout;
}

/** Draw or redraw a chart. */
function chart(host, traces, layout, config) {
  return Plotly.react(host, traces, look(layout), { ...CONFIG, ...config });
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
  return chart(host, traces, { ...shape, showlegend: lines.length > 1, ...options.layout }, options.config);
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

/** Where a picture of rows begins and ends, below it. */
function endsOf(layout) {
  const line = element("div", "ends");
  for (const text of [short(layout.x[0]), layout.x_name, short(layout.x[layout.x.length - 1])]) {
    line.append(element("span", "", text));
  }
  return line;
}

/** Pictures side by side, with a caption each; canvases are made once and used again. */
function drawPictures(host, layout, pictures) {
  host.classList.add("pictures");
  host.classList.toggle("stacked", layout.kind === "rows");
  while (host.children.length < pictures.length) {
    const figure = element("figure");
    const canvas = element("canvas");
    canvas.setAttribute("role", "img");
    figure.append(canvas, ...(layout.kind === "rows" ? [endsOf(layout)] : []), element("figcaption"));
    host.append(figure);
  }
  while (host.children.length > pictures.length) host.lastChild.remove();
  pictures.forEach((picture, i) => {
    const figure = host.children[i];
    drawCanvas(figure.firstChild, layout, picture.values, picture.scale, picture.predicted);
    figure.firstChild.setAttribute("aria-label", picture.name);
    figure.lastChild.textContent = picture.name;
  });
}
