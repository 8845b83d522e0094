// Which task ran where and when: a row for each node, a bar for each try.

import { clockTime, duration, h, number, plural, s, shortNode } from "./dom.js";
import { TASK_KINDS } from "./states.js";

const NARROW = 560;
const LEAST = 300;
const FEW = 24;
const LANES_MOST = 8;
const KINDS = { start: "start task", preparation: "job preparation task", release: "job release task" };

export class Timeline {
  constructor() {
    this.all = false;
    this.element = h("div", { class: "gantt" });
  }

  /** Drawn anew unless the pointer is on it: what one points at shall not go away. */
  show(nodes, spans, from, to, { always = false } = {}) {
    if (!always && this.element.matches(":hover") && this.element.querySelector("svg")) return;
    const rows = byNode(nodes, spans, from, to);
    const shown = this.all ? rows : rows.slice(0, FEW);
    if (rows.every((row) => row.spans.length === 0)) {
      this.element.replaceChildren(h("p", { class: "quiet" }, "No task ran here in this time."));
      return;
    }
    const focused = this.element.contains(document.activeElement) && document.activeElement.tagName === "BUTTON";
    const toggle =
      rows.length > FEW &&
      h("button", { type: "button", class: "plain", "aria-expanded": String(this.all), onclick: () => {
        this.all = !this.all;
        this.show(nodes, spans, from, to, { always: true });
      } }, this.all ? `Only the first ${FEW} nodes` : `All ${number(rows.length)} nodes`);
    this.element.replaceChildren(
      h("div", { class: "scroll" }, draw(shown, from, to, this.element.clientWidth)),
      swatches(),
      toggle || "",
    );
    if (focused && toggle) toggle.focus();
  }
}

function swatches() {
  const looks = [
    ...["running", "success", "failure", "stopped"].map((kind) => [kind, TASK_KINDS[kind].label]),
    ["side", "start, preparation or release task"],
  ];
  return h("ul", { class: "legend" }, looks.map(([kind, label]) => h("li", null, h("span", { class: `swatch bar-${kind}` }), label)));
}

function byNode(nodes, spans, from, to) {
  const found = new Map(nodes.map((node) => [node.id, []]));
  for (const span of spans) {
    if ((span[5] ?? to) < from || span[4] > to) continue;
    if (!found.has(span[0])) found.set(span[0], []);
    found.get(span[0]).push(span);
  }
  // Nodes that did something come first; of the others there is nothing to see.
  const rows = [...found].map(([id, of]) => ({ id, spans: of.sort((one, other) => one[4] - other[4]) }));
  return [...rows.filter((row) => row.spans.length), ...rows.filter((row) => !row.spans.length)];
}

/** Tries that overlap lie under each other. */
function lanes(spans, to) {
  const ends = [];
  const of = spans.map((span) => {
    let lane = ends.findIndex((end) => end <= span[4]);
    if (lane < 0) lane = Math.min(ends.length, LANES_MOST - 1);
    ends[lane] = span[5] ?? to;
    return lane;
  });
  return { of, count: Math.max(1, ends.length) };
}

function draw(rows, from, to, room) {
  const width = Math.max(room, LEAST);
  const left = room < NARROW ? 104 : 128;
  const x = (ms) => left + ((Math.min(to, Math.max(from, ms)) - from) / Math.max(1, to - from)) * (width - left - 2);
  const parts = [];
  let y = 20;
  for (const row of rows) {
    const { of, count } = lanes(row.spans, to);
    const lane = count > 2 ? 7 : count > 1 ? 9 : 14;
    const height = count * lane;
    parts.push(s("text", { class: "tick", x: 0, y: y + height / 2 + 4 }, s("title", null, row.id), shortNode(row.id)));
    parts.push(s("rect", { class: "track", x: left, y, width: width - left - 2, height, rx: 2 }));
    row.spans.forEach((span, at) => parts.push(bar(span, x, y + of[at] * lane, lane - 1, to)));
    y += height + 5;
  }
  const times = (room < NARROW ? [0, 1] : [0, 0.25, 0.5, 0.75, 1]).map((share) => [left + share * (width - left - 2), from + share * (to - from), share]);
  const count = rows.reduce((sum, row) => sum + row.spans.length, 0);
  return s(
    "svg",
    {
      viewBox: `0 0 ${width} ${y + 2}`,
      width,
      height: y + 2,
      role: "img",
      "aria-label": `Timeline from ${clockTime(from)} to ${clockTime(to)}: ${plural(count, "try")} on ${plural(rows.length, "node")}. The tables below have the same tasks.`.replace("trys", "tries"),
    },
    pattern(),
    times.map(([at, ms, share]) => [
      s("line", { class: "rule", x1: at, x2: at, y1: 16, y2: y }),
      s("text", { class: "tick", x: at, y: 10, "text-anchor": share === 0 ? "start" : share === 1 ? "end" : "middle" }, clockTime(ms)),
    ]),
    parts,
  );
}

function pattern() {
  return s(
    "defs",
    null,
    s("pattern", { id: "hatch", width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" }, s("rect", { class: "hatch-ground", width: 6, height: 6 }), s("rect", { class: "hatch-line", width: 2.5, height: 6 })),
  );
}

function bar(span, x, y, height, to) {
  const [node, kind, job, task, start, end, result] = span;
  const at = x(start);
  const width = Math.max(2, x(end ?? to) - at);
  const look = kind === "task" ? result : "side";
  const name = kind === "task" ? `${job} / ${task}` : `${KINDS[kind] ?? kind}${job ? ` of ${job}` : ""}`;
  const words = TASK_KINDS[result]?.label ?? result;
  const shape = s(
    "rect",
    { class: `bar bar-${look}${kind !== "task" && result === "failure" ? " bar-failure" : ""}`, x: at.toFixed(1), y, width: width.toFixed(1), height, rx: Math.min(2, height / 3) },
    s("title", null, `${name}: ${words}, ${duration((end ?? to) - start)}, from ${clockTime(start)}, on ${shortNode(node)}`),
  );
  const label = width > 34 && height >= 12 && kind === "task"
    ? s("text", { class: "bar-label", x: at + 4, y: y + height - 3 }, `${TASK_KINDS[result]?.sign ?? ""} ${fit(task, width)}`)
    : null;
  if (kind !== "task") return shape;
  return s("a", { href: `#/jobs/${encodeURIComponent(job)}/tasks/${encodeURIComponent(task)}`, tabindex: -1 }, shape, label);
}

const fit = (text, width) => (text.length * 6.2 < width - 18 ? text : "");
