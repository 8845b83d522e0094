// A pool over time, in steps: its queue and running tasks, its nodes and how many it wants.

import { clockTime, h, number, s } from "./dom.js";
import { grouped } from "./states.js";

const HEIGHT = 124;
const LEFT = 40;
const BOTTOM = 18;
const TOP = 8;

const LINES = {
  tasks: [
    ["queued", "waiting tasks", (sample) => sample[1]],
    ["running", "running tasks", (sample) => sample[2]],
  ],
  nodes: [
    ["target", "wanted nodes", (sample) => sample[3]],
    ["usable", "usable nodes", (sample) => usable(sample[4])],
  ],
};

function usable(states) {
  const groups = grouped(states);
  return (groups.running ?? 0) + (groups.idle ?? 0);
}

/** Two charts, drawn as wide as `room` pixels: so letters have one size on every screen. */
export function charts(samples, from, to, formula, room) {
  return h(
    "div",
    { class: "charts" },
    chart("Tasks of this pool", LINES.tasks, samples, from, to, room),
    chart(formula ? "Nodes, and what the formula wants" : "Nodes, and how many are wanted", LINES.nodes, samples, from, to, room),
  );
}

function chart(title, lines, samples, from, to, width) {
  const most = niceTop(Math.max(1, ...samples.flatMap((sample) => lines.map(([, , value]) => value(sample)))));
  const x = (ms) => LEFT + ((Math.min(to, Math.max(from, ms)) - from) / Math.max(1, to - from)) * (width - LEFT - 4);
  const y = (value) => TOP + (1 - value / most) * (HEIGHT - TOP - BOTTOM);
  const last = samples.at(-1);
  const said = lines.map(([, label, value]) => `${label} ${last ? number(value(last)) : 0}`).join(", ");
  return h(
    "figure",
    { class: "chart" },
    h("figcaption", null, title),
    s(
      "svg",
      { viewBox: `0 0 ${width} ${HEIGHT}`, role: "img", "aria-label": `${title}: now ${said}` },
      [0, most / 2, most].map((value) => [
        s("line", { class: "rule", x1: LEFT, x2: width - 4, y1: y(value), y2: y(value) }),
        Number.isInteger(value) && s("text", { class: "tick", x: LEFT - 6, y: y(value) + 3.5, "text-anchor": "end" }, short(value)),
      ]),
      s("text", { class: "tick", x: LEFT, y: HEIGHT - 4 }, clockTime(from)),
      s("text", { class: "tick", x: width - 4, y: HEIGHT - 4, "text-anchor": "end" }, clockTime(to)),
      lines.map(([name, , value]) => steps(name, samples, value, x, y, to)),
    ),
    h(
      "ul",
      { class: "legend" },
      lines.map(([name, label, value]) =>
        h("li", null, s("svg", { class: "key", viewBox: "0 0 22 8", "aria-hidden": "true" }, s("line", { class: `line line-${name}`, x1: 1, x2: 21, y1: 4, y2: 4 })), h("b", null, number(last ? value(last) : 0)), ` ${label}`),
      ),
    ),
  );
}

function steps(name, samples, value, x, y, to) {
  if (samples.length === 0) return null;
  let line = "";
  for (const [at, sample] of samples.entries()) {
    const here = x(sample[0]);
    const level = y(value(sample)).toFixed(1);
    line += at === 0 ? `M${here.toFixed(1)} ${level}` : `H${here.toFixed(1)}V${level}`;
  }
  line += `H${x(to).toFixed(1)}`;
  const area = name === "queued" || name === "usable";
  return [
    area && s("path", { class: `area area-${name}`, d: `${line}V${y(0)}H${x(samples[0][0]).toFixed(1)}Z` }),
    s("path", { class: `line line-${name}`, d: line }),
  ];
}

function niceTop(value) {
  const size = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 4, 5, 10].map((step) => step * size).find((step) => step >= value);
}

function short(value) {
  if (value >= 1e6) return `${value / 1e6}M`;
  return value >= 1e4 ? `${value / 1e3}k` : number(value);
}
