// One job: how far it is, and its tasks, fifty at a time.

import { blocked, get, history, list, path } from "./api.js";
import { clockTime, duration, empty, h, number, put, shortNode, sync } from "./dom.js";
import { drawProgress, progress, sumsOf } from "./overview.js";
import { badge, jobBadge, taskKind, TASK_KINDS, trouble, whyFailed } from "./states.js";

const PAGE = 50;
const QUERY = { $select: "id,state,stateTransitionTime,creationTime,executionInfo,nodeInfo", maxresults: PAGE };
const FILTERS = [
  ["all", "all", ""],
  ["active", "waiting", "state eq 'active'"],
  ["running", "running", "state eq 'running'"],
  ["success", "succeeded", "executionInfo/result eq 'success'"],
  ["failure", "failed", "executionInfo/result eq 'failure'"],
];

export class JobView {
  constructor(id) {
    this.id = id;
    this.title = `${id} – azbatch local`;
    this.filter = "all";
    this.search = "";
    this.tokens = [""];
    this.seen = "";
    this.wanted = () => {};
    this.state = h("span");
    this.facts = h("p", { class: "quiet" });
    this.trouble = h("div");
    this.bar = progress();
    this.sums = h("p", { class: "sums big" });
    this.filters = h("div", { class: "choice", role: "group", "aria-label": "tasks shown" });
    this.find = h("input", { type: "search", placeholder: "Task id begins with…", "aria-label": "task id begins with", oninput: () => {
      this.search = this.find.value.trim();
      this.first();
    } });
    this.rows = h("tbody");
    this.table = h(
      "table",
      null,
      h("thead", null, h("tr", null, ["Task", "State", "Why it failed", "Node", "Started", "Took"].map((name) => h("th", { scope: "col" }, name)))),
      this.rows,
    );
    this.none = h("div");
    this.back = h("button", { type: "button", class: "plain", onclick: () => this.turn(-1) }, "← Previous");
    this.on = h("button", { type: "button", class: "plain", onclick: () => this.turn(1) }, "Next →");
    this.where = h("span", { class: "quiet" });
    this.pager = h("nav", { class: "pager", "aria-label": "pages of tasks" }, this.back, this.where, this.on);
    this.element = h(
      "section",
      { class: "card" },
      h("p", { class: "crumbs" }, h("a", { href: "#/" }, "Overview"), " / job"),
      h("div", { class: "row" }, h("h1", null, id), this.state),
      this.facts,
      this.trouble,
      this.bar,
      this.sums,
      h("div", { class: "row" }, this.filters, this.find),
      h("div", { class: "scroll" }, this.table),
      this.none,
      this.pager,
    );
  }

  first() {
    this.tokens = [""];
    this.seen = "";
    this.wanted();
  }

  turn(step) {
    if (step < 0) this.tokens.pop();
    else this.tokens.push(this.next);
    this.seen = "";
    this.wanted();
  }

  async refresh() {
    const [job, answer, time] = await Promise.all([
      get(path("jobs", this.id), { $select: "id,state,creationTime,stateTransitionTime,executionInfo,poolInfo,priority" }),
      get(path("jobs", this.id, "taskcounts")),
      history("", 0),
    ]);
    this.showJob(job, answer.taskCounts, time.now);
    // A list over many tasks is asked for again only when something about them has changed.
    const state = JSON.stringify([answer.taskCounts, this.filter, this.search, this.tokens]);
    if (state !== this.seen || answer.taskCounts.running > 0) {
      await this.showTasks(time.now, answer.taskCounts);
      this.seen = state;
    }
    return time;
  }

  showJob(job, counts, now) {
    this.state.replaceChildren(jobBadge(job.state, counts.running > 0));
    const info = job.executionInfo ?? {};
    const end = info.endTime ? Date.parse(info.endTime) : now;
    const reason = info.terminateReason ? ` · ended: ${info.terminateReason}` : "";
    put(this.facts, `on pool ${info.poolId ?? "?"} · ${info.endTime ? "took" : "for"} ${duration(end - Date.parse(info.startTime ?? job.creationTime))}${reason}`);
    this.trouble.replaceChildren(...(info.schedulingError ? [trouble(info.schedulingError)] : []));
    drawProgress(this.bar, counts);
    if (!this.seen) put(this.sums, sumsOf(counts));
    const numbers = { all: counts.active + counts.running + counts.succeeded + counts.failed, active: counts.active, running: counts.running, success: counts.succeeded, failure: counts.failed };
    sync(
      this.filters,
      FILTERS,
      ([name]) => name,
      ([name]) => h("button", { type: "button", onclick: () => {
        this.filter = name;
        this.first();
      } }),
      (button, [name, label]) => {
        button.setAttribute("aria-pressed", String(name === this.filter));
        put(button, `${TASK_KINDS[name] ? `${TASK_KINDS[name].sign} ` : ""}${label} ${number(numbers[name])}`);
      },
    );
  }

  async showTasks(now, counts) {
    const conditions = [FILTERS.find(([name]) => name === this.filter)[2]];
    if (this.search) conditions.push(`startswith(id,'${this.search.replaceAll("'", "''")}')`);
    const asked = { ...QUERY, $filter: conditions.filter(Boolean).join(" and "), $skiptoken: this.tokens.at(-1) };
    const never = counts.active && counts.failed ? blocked(this.id) : {};
    const [{ items, next }, causes] = await Promise.all([list(path("jobs", this.id, "tasks"), asked), never]);
    this.next = next;
    const many = Object.keys(causes).length;
    put(this.sums, `${sumsOf(counts)}${many ? `, ${number(many)} never run: what they depend on failed` : ""}`);
    sync(this.rows, items, (task) => task.id, (task) => this.makeRow(task), (row, task) => drawRow(row, task, causes[task.id], now));
    this.table.hidden = items.length === 0;
    const first = (this.tokens.length - 1) * PAGE;
    put(this.where, items.length ? `${number(first + 1)} to ${number(first + items.length)}` : "");
    this.back.disabled = this.tokens.length === 1;
    this.on.disabled = next === null;
    this.pager.hidden = this.tokens.length === 1 && next === null;
    const total = counts.active + counts.running + counts.succeeded + counts.failed;
    this.none.replaceChildren(...(items.length ? [] : [empty(total ? "No such task in this job." : "This job has no task yet.")]));
  }

  makeRow(task) {
    const link = `#/jobs/${encodeURIComponent(this.id)}/tasks/${encodeURIComponent(task.id)}`;
    return h("tr", null, h("th", { scope: "row" }, h("a", { href: link }, task.id)), h("td"), h("td", { class: "why" }), h("td", { class: "mono" }), h("td"), h("td"));
  }
}

function drawRow(row, task, cause, now) {
  const [, state, why, node, started, took] = row.children;
  const kind = cause && task.state === "active" ? "blocked" : taskKind(task);
  if (state.dataset.kind !== kind) {
    state.dataset.kind = kind;
    state.replaceChildren(badge(kind));
  }
  const info = task.executionInfo ?? {};
  put(why, kind === "blocked" ? `never runs: ${cause} failed` : whyFailed(info));
  put(node, task.nodeInfo?.nodeId ? shortNode(task.nodeInfo.nodeId) : "");
  put(started, info.startTime ? clockTime(Date.parse(info.startTime)) : "");
  put(took, info.startTime ? duration((info.endTime ? Date.parse(info.endTime) : now) - Date.parse(info.startTime)) : "");
}
