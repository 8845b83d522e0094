// A pool's nodes as a grid, and what there is to know about one of them.

import { get, path } from "./api.js";
import { ago, fullTime, h, number, put, shortNode, sync } from "./dom.js";
import { NODE_GROUPS, badge, grouped, legend, nodeGroup, taskKind, trouble, whyFailed } from "./states.js";

const MOST = 1000;
/** What a cell needs; of the chosen node all is asked for. */
export const NODE_QUERY = { $select: "id,state,runningTasksCount", maxresults: MOST };

/** Cells to walk with the arrow keys; Enter shows the node below. */
export class NodeGrid {
  constructor() {
    this.chosen = null;
    this.nodes = [];
    this.wanted = () => {};
    this.cells = h("ul", { class: "cells", "aria-label": "nodes", onkeydown: (event) => this.walk(event) });
    this.note = h("p", { class: "quiet" });
    this.legend = h("div");
    this.detail = h("div", { class: "detail", "aria-live": "polite" });
    this.element = h("div", { class: "grid-part" }, this.cells, this.note, this.legend, this.detail);
  }

  show(nodes, states) {
    this.nodes = nodes;
    const total = Object.values(states).reduce((sum, count) => sum + count, 0);
    this.cells.classList.toggle("many", nodes.length > 60);
    if (!nodes.some((node) => node.id === this.chosen)) this.chosen = null;
    const reachable = this.chosen ?? nodes[0]?.id;
    sync(
      this.cells,
      nodes,
      (node) => node.id,
      (node) => h("li", null, h("button", { type: "button", onclick: () => this.choose(node.id) })),
      (item, node) => this.draw(item.firstElementChild, node, reachable),
    );
    put(this.note, total > nodes.length ? `The first ${number(nodes.length)} of ${number(total)} nodes, by id.` : "");
    const groups = grouped(states);
    this.legend.replaceChildren(
      legend(Object.entries(NODE_GROUPS).flatMap(([name, look]) => (groups[name] ? [[name, look, number(groups[name])]] : []))),
    );
  }

  draw(button, node, reachable) {
    const group = nodeGroup(node.state);
    const count = node.runningTasksCount ?? 0;
    const tasks = count ? `, ${count} running` : "";
    button.className = `cell is-${group}`;
    button.tabIndex = node.id === reachable ? 0 : -1;
    button.title = `${shortNode(node.id)}: ${node.state}${tasks}`;
    button.setAttribute("aria-label", button.title);
    button.setAttribute("aria-pressed", String(node.id === this.chosen));
    put(button, group === "running" && count > 1 ? String(count) : NODE_GROUPS[group].sign);
  }

  walk(event) {
    const buttons = [...this.cells.querySelectorAll("button")];
    const at = buttons.indexOf(document.activeElement);
    if (at < 0) return;
    const top = buttons[0].offsetTop;
    const row = Math.max(1, buttons.filter((button) => button.offsetTop === top).length);
    const step = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: row, ArrowUp: -row, Home: -at, End: buttons.length - 1 - at }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const next = buttons[Math.min(buttons.length - 1, Math.max(0, at + step))];
    buttons[at].tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  }

  choose(id) {
    this.chosen = this.chosen === id ? null : id;
    for (const item of this.cells.children) {
      item.firstElementChild.setAttribute("aria-pressed", String(item.dataset.key === this.chosen));
    }
    this.wanted();
  }

  /** Show what there is to know about the chosen node of a pool; the part is changed only if it is. */
  async showDetail(pool, now) {
    const id = this.chosen;
    let node = null;
    if (id !== null) {
      try {
        node = await get(path("pools", pool, "nodes", id));
      } catch (error) {
        if (error.status !== 404) throw error; // it has just left the pool
      }
    }
    const seen = JSON.stringify(node);
    if (seen === this.seen || id !== this.chosen) return;
    this.seen = seen;
    this.detail.replaceChildren(...(node ? detail(node, now) : []));
  }
}

function detail(node, now) {
  const since = Date.parse(node.stateTransitionTime);
  const troubles = (node.errors ?? []).map(trouble);
  const start = node.startTaskInfo;
  if (start?.result === "failure") troubles.push(h("p", { class: "trouble" }, `The start task failed (${whyFailed(start)}).`));
  const recent = (node.recentTasks ?? []).filter((task) => task.taskId && task.jobId).reverse();
  return [
    h("h3", null, h("code", null, node.id)),
    h(
      "p",
      null,
      h("b", null, node.state),
      ` since ${fullTime(since)} (${ago(now - since)}) · ${node.isDedicated ? "dedicated" : "spot"} · ${node.vmSize} · ${node.ipAddress ?? ""}`,
      ` · ${number(node.totalTasksRun)} tasks run`,
    ),
    troubles,
    recent.length > 0 && h("p", { class: "quiet" }, "Latest tasks"),
    recent.length > 0 &&
      h(
        "ul",
        { class: "recent" },
        recent.map((task) => h("li", null, badge(taskKind({ state: task.taskState, executionInfo: task.executionInfo })), " ", taskLink(task.jobId, task.taskId))),
      ),
  ].flat().filter(Boolean);
}

export const taskLink = (job, task, label = `${job} / ${task}`) =>
  h("a", { href: `#/jobs/${encodeURIComponent(job)}/tasks/${encodeURIComponent(task)}` }, label);
