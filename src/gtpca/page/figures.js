// The frame of a figure: buttons, zoom by mouse, fingers and keys, and a file of it.

const LARGER = 1.6, SHORTEST = 1e-3;
const WHOLE = [0, 1];
const ARROWS = { ArrowLeft: ["x", -1], ArrowRight: ["x", 1], ArrowUp: ["y", 1], ArrowDown: ["y", -1] };

/** Put a chart or pictures into a frame with buttons, once. The figure that is made has:
 *  zooms: the axes that buttons zoom; part: of each axis the share [from, to] that is shown, if not all;
 *  show(): draw what `part` says; area(target): the box on the screen in which it is shown;
 *  grabs(event): whether a pointer moves what is shown; kind: "SVG" or "PNG"; file(): promises it. */
function framed(host, make) {
  if (host.figure) return host.figure;
  const figure = make(host), frame = element("div", "frame"), tools = element("div", "tools");
  host.figure = Object.assign(figure, { host, frame, part: {} });
  host.replaceWith(frame);
  frame.append(tools, host);
  frame.classList.toggle("wide", figure.zooms.length === 1);
  const add = (text, title, act) => tools.append(toolButton(text, title, act));
  add("Back", "Show everything (0)", () => back(figure));
  add("−", "Zoom out (-)", () => zoomBy(figure, LARGER));
  add("+", "Zoom in (+)", () => zoomBy(figure, 1 / LARGER));
  add(figure.kind, `Save as ${figure.kind} (S)`, () => saveFigure(figure));
  startKeys(figure);
  startGestures(figure);
  showZoomed(figure);
  return figure;
}

/** A button that does not take the keyboard's way: the frame has keys for all of them. */
function toolButton(text, title, act) {
  const button = element("button", "", text);
  button.type = "button";
  button.tabIndex = -1;
  button.title = title;
  button.setAttribute("aria-label", title.replace(/ \(.*/, ""));
  button.addEventListener("click", act);
  return button;
}

/** The interval [from, to] of shares, `factor` times as long; what is at the share `at` of it stays there. */
function scaled([from, to], factor, at) {
  const length = Math.max(SHORTEST, Math.min(1, (to - from) * factor));
  return moved([from + at * (to - from - length), from + at * (to - from - length) + length], 0);
}

/** An interval moved by so many of its lengths, but not over the ends. */
function moved([from, to], by) {
  const length = to - from, start = Math.max(0, Math.min(1 - length, from + by * length));
  return [start, start + length];
}

/** Whether less than everything is shown. */
function isZoomed(figure) {
  return Object.keys(figure.part).length > 0;
}

/** Show other parts of the axes; an axis that is shown in full is as it was at first. */
function zoomTo(figure, part) {
  const was = isZoomed(figure), all = Object.entries({ ...figure.part, ...part });
  figure.part = Object.fromEntries(all.filter(([, [from, to]]) => to - from < 0.9999));
  showZoomed(figure);
  if (was || isZoomed(figure)) figure.show();
}

/** Show everything again. */
function back(figure) {
  zoomTo(figure, Object.fromEntries(Object.keys(figure.part).map((axis) => [axis, WHOLE])));
}

/** Show a part that is `factor` times as long, around a place in shares of what is seen. */
function zoomBy(figure, factor, place = { x: 0.5, y: 0.5 }) {
  const now = figure.zooms.map((axis) => [axis, figure.part[axis] || WHOLE]);
  zoomTo(figure, Object.fromEntries(now.map(([axis, part]) => [axis, scaled(part, factor, place[axis[0]])])));
}

/** Move what is seen by shares of itself. */
function pan(figure, by) {
  const now = Object.entries(figure.part);
  zoomTo(figure, Object.fromEntries(now.map(([axis, part]) => [axis, moved(part, by[axis[0]] || 0)])));
}

/** Let the frame say whether it is zoomed. */
function showZoomed(figure) {
  const { frame } = figure, zoomed = isZoomed(figure), [first, less] = frame.querySelectorAll(".tools button");
  frame.classList.toggle("zoomed", zoomed);
  first.hidden = !zoomed;
  less.disabled = !zoomed;
}

/** Keys: + - 0 S and the arrows, with shift where a figure uses the arrows itself. */
function startKeys(figure) {
  const { host, frame } = figure;
  if (!host.hasAttribute("tabindex")) {
    frame.tabIndex = 0;
    frame.setAttribute("role", "group");
    frame.setAttribute("aria-label", `${host.getAttribute("aria-label")}: zoom with + and -, move with arrows, 0 for all, S saves`);
  }
  const acts = { "+": () => zoomBy(figure, 1 / LARGER), "=": () => zoomBy(figure, 1 / LARGER),
    "-": () => zoomBy(figure, LARGER), 0: () => back(figure), s: () => saveFigure(figure) };
  frame.addEventListener("keydown", (event) => {
    const arrow = isZoomed(figure) && ARROWS[event.key], act = acts[event.key.toLowerCase()];
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || !(arrow || act)) return;
    event.preventDefault();
    if (arrow) pan(figure, { [arrow[0]]: 0.2 * arrow[1] });
    else act();
  });
}

/** Where in an area a pointer is, in shares from the left and from below. */
function placeIn(area, { clientX, clientY }) {
  const x = (clientX - area.left) / area.width, y = 1 - (clientY - area.top) / area.height;
  return { x: Math.max(0, Math.min(1, x)), y: Math.max(0, Math.min(1, y)) };
}

/** Middle and distance of two pointers. */
function pinchOf([a, b]) {
  const clientX = (a.clientX + b.clientX) / 2, clientY = (a.clientY + b.clientY) / 2;
  return { clientX, clientY, distance: Math.hypot(a.clientX - b.clientX, a.clientY - b.clientY) };
}

/** Two fingers zoom, one moves what is zoomed; so does the mouse in pictures. */
function startGestures(figure) {
  const { frame, host } = figure, down = new Map();
  host.addEventListener("pointerdown", (event) => {
    down.set(event.pointerId, event);
    if (figure.grabs(event) && isZoomed(figure)) host.setPointerCapture(event.pointerId);
  }, true);
  host.addEventListener("pointermove", (event) => {
    if (!down.has(event.pointerId)) return;
    const before = [...down.values()];
    down.set(event.pointerId, event);
    if (down.size === 2) pinch(figure, pinchOf(before), pinchOf([...down.values()]), event.target);
    else if (figure.grabs(event)) drag(figure, before[0], event);
  }, true);
  for (const name of ["pointerup", "pointercancel"]) {
    window.addEventListener(name, (event) => down.delete(event.pointerId), true);
  }
  for (const name of ["touchstart", "touchmove"]) {
    host.addEventListener(name, keepFingers, { passive: false, capture: true });
  }
  frame.addEventListener("wheel", (event) => wheel(figure, event), { passive: false });
}

/** Two fingers do not scroll, and are not two clicks. */
function keepFingers(event) {
  if (event.touches.length < 2) return;
  event.preventDefault();
  if (event.type === "touchstart") event.stopPropagation();
}

/** Two fingers from one place to another. */
function pinch(figure, before, now, target) {
  const area = figure.area(target), place = placeIn(area, now);
  drag(figure, before, now, area);
  zoomBy(figure, before.distance / Math.max(1, now.distance), place);
}

/** What is seen follows a pointer. */
function drag(figure, before, now, area = figure.area(now.target)) {
  if (!isZoomed(figure)) return;
  pan(figure, { x: (before.clientX - now.clientX) / area.width, y: (now.clientY - before.clientY) / area.height });
}

/** The wheel with control, which is also what two fingers on a touch pad are. */
function wheel(figure, event) {
  if (!event.ctrlKey && !event.metaKey) return;
  event.preventDefault();
  zoomBy(figure, Math.exp(Math.max(-1, Math.min(1, 0.01 * event.deltaY))), placeIn(figure.area(event.target), event));
}

/** Hand something to the browser as a file. */
function saveFile(blob, name) {
  const link = element("a"), url = URL.createObjectURL(blob);
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}

/** A figure as it is shown, as a file with its name. */
async function saveFigure(figure) {
  const name = figure.host.getAttribute("aria-label").toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "-");
  saveFile(await figure.file(), `${name.replace(/^-+|-+$/g, "")}.${figure.kind.toLowerCase()}`);
}
