"use strict";
// What Python packed, unpacked; nothing here touches the page.

const page = JSON.parse(document.getElementById("data").textContent);
const ARRAYS = { f4: Float32Array, i4: Int32Array, u1: Uint8Array, u2: Uint16Array };

/** Numbers from base64, see packing.py. */
function numbers(entry) {
  const raw = atob(entry.data);
  const bytes = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i);
  return new ARRAYS[entry.type](bytes.buffer);
}

/** Arrays that were packed as integers: get(i) is row i, as floats. */
function rowsOf(entry) {
  const low = numbers(entry.low), step = numbers(entry.step), values = numbers(entry.values);
  const get = (i) => {
    const part = values.subarray(i * entry.size, (i + 1) * entry.size);
    return Float32Array.from(part, (q) => low[i] + step[i] * q);
  };
  return { length: low.length, get };
}

/** Where nothing was observed: get(i, j) of value j of row i; never, if nothing is missing. */
function gapsOf(entry, size) {
  const hidden = entry ? numbers(entry) : null;
  return (i, j) => hidden !== null && hidden[i * size + j] > 0;
}

/** Column j of a table with `width` columns. */
function column(table, width, j) {
  const out = new Array(table.length / width);
  for (let i = 0; i < out.length; i++) out[i] = table[i * width + j];
  return out;
}

/** The samples that can be chosen: number, scores, poses, label, row of the picture or -1. */
function readPoints() {
  const given = page.points;
  const number = numbers(given.number), n = number.length;
  const scores = numbers(given.scores), picture = new Int32Array(n).fill(-1);
  numbers(page.samples.rows).forEach((point, row) => { picture[point] = row; });
  const poses = given.poses.map((pose) => ({
    ...pose, values: numbers(pose.values), std: pose.std ? numbers(pose.std) : null,
    se: pose.se ? numbers(pose.se) : null }));
  const sure = given.sure.map((one) => ({ ...one, values: numbers(one.values) }));
  return {
    n, number, scores, picture, poses, sure, labels: given.labels, classes: given.classes,
    width: scores.length / n, explained: numbers(given.explained), ids: given.ids,
    kinds: given.kinds ? numbers(given.kinds) : null,
    columns: given.columns.map((one) => ({ ...one, values: one.values ? numbers(one.values) : null })),
  };
}

/** A number in a few digits. */
function short(value) {
  if (Number.isInteger(value)) return String(value);
  const size = Math.abs(value);
  if (size !== 0 && (size >= 1e5 || size < 1e-3)) return value.toExponential(2);
  return String(Number(value.toPrecision(4)));
}

/** A standard deviation, or a standard error; what is far below all others is none. */
function spreadText(pose, i, k) {
  const std = pose.std ?? pose.se, value = std ? std[pose.std ? i : i * pose.width + k] : NaN;
  if (!Number.isFinite(value)) return "";
  const most = std.reduce((a, b) => (b > a ? b : a), 0);
  return ` \u00b1 ${value < 1e-3 * most ? "0" : short(Number(value.toPrecision(2)))}`;
}

/** A value of a pose in words. */
function poseText(pose, value) {
  return pose.words ? pose.words[value] : short(value);
}

/** A share in percent. */
function percent(share) {
  return `${(100 * share).toFixed(1)} %`;
}

/** Text that plotly must not take for markup. */
function plain(text) {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

/** A field of a table, in quotes where that is needed. */
function field(value) {
  const text = typeof value === "number" ? String(Number(value.toPrecision(7))) : String(value);
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
