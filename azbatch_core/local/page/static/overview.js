// The first view: pools with their nodes, their history, and the jobs.

import { get, history, list, path } from "./api.js";
import { charts } from "./charts.js";
import { ago, empty, h, number, plural, put, sync } from "./dom.js";
import { Timeline } from "./gantt.js";
import { NODE_QUERY, NodeGrid } from "./nodes.js";
import { jobBadge, poolMark, trouble } from "./states.js";

const POOLS = { $select: "id,state,allocationState,vmSize,currentDedicatedNodes,currentLowPriorityNodes,targetDedicatedNodes,targetLowPriorityNodes,enableAutoScale,autoScaleRun,resizeErrors,creationTime,taskSlotsPerNode" };
const JOBS = { $select: "id,state,creationTime,stateTransitionTime,poolInfo,executionInfo,displayName" };
const JOBS_SHOWN = 12;
const MANY_JOBS = 100;
const MANY_JOBS_MS = 15_000;
const KEPT_SPANS = 4000;
const FINAL = "completed";
const WINDOWS = [
  [5, "5 min"],
  [30, "30 min"],
  [180, "3 h"],
  [0, "all"],
];

export class Overview {
  constructor() {
    this.title = "azbatch local";
    this.pool = null;
    this.asked = null;
    this.minutes = 5;
    this.search = "";
    this.shown = JOBS_SHOWN;
    this.counts = new Map();
    this.listed = { at: 0, filter: null, jobs: { items: [] } };
    this.forgetHistory();
    this.grid = new NodeGrid();
    this.timeline = new Timeline();
    this.tabs = h("div", { class: "tabs", role: "tablist", "aria-label": "pools", onkeydown: (event) => walkTabs(event) });
    this.facts = h("p", { class: "facts" });
    this.troubles = h("div");
    this.charts = h("div");
    this.windows = h("div", { class: "choice", role: "group", "aria-label": "time shown" });
    this.poolPart = h(
      "div",
      { role: "tabpanel", "aria-label": "pool" },
      this.facts,
      this.troubles,
      h("div", { class: "split" }, h("div", null, h("h3", null, "Nodes"), this.grid.element), this.charts),
      h("div", { class: "row" }, h("h3", null, "Timeline"), this.windows),
      this.timeline.element,
    );
    this.noPool = h("div");
    this.jobs = h("ul", { class: "jobs" });
    this.noJob = h("div");
    this.more = h("button", { type: "button", class: "plain", onclick: () => {
      this.shown += 25;
      this.wanted();
    } });
    this.find = h("input", { type: "search", placeholder: "Job id begins with…", "aria-label": "job id begins with", oninput: () => {
      this.search = this.find.value.trim();
      this.wanted();
    } });
    this.element = h(
      "div",
      null,
      h("section", { class: "card" }, h("div", { class: "row" }, h("h2", null, "Pools"), this.tabs), this.noPool, this.poolPart),
      h("section", { class: "card" }, h("div", { class: "row" }, h("h2", null, "Jobs"), this.find), this.jobs, this.noJob, this.more),
    );
    this.wanted = () => {};
    this.grid.wanted = () => this.wanted();
    this.drawWindows();
  }

  forgetHistory() {
    this.samples = [];
    this.spans = new Map();
    this.until = 0;
  }

  async refresh() {
    const [pools, jobs, counts] = await Promise.all([list("/pools", POOLS), this.listJobs(), list("/nodecounts")]);
    pools.items.sort((one, other) => Date.parse(other.creationTime) - Date.parse(one.creationTime));
    this.showPools(pools.items, jobs.items, new Map(counts.items.map((found) => [found.poolId, found])));
    const past = await this.refreshPool(pools.items.find((pool) => pool.id === this.pool));
    await this.showJobs(jobs, past.now);
    return past;
  }

  /** The latest first. The service lists by id only, so all are asked for: of many, not every time. */
  async listJobs() {
    const filter = this.search ? `startswith(id,'${this.search.replaceAll("'", "''")}')` : "";
    const age = performance.now() - this.listed.at;
    if (this.listed.filter === filter && this.listed.jobs.items.length > MANY_JOBS && age < MANY_JOBS_MS) return this.listed.jobs;
    const at = performance.now();
    const jobs = await list("/jobs", { ...JOBS, $filter: filter });
    jobs.items.sort((one, other) => Date.parse(other.creationTime) - Date.parse(one.creationTime));
    this.listed = { at, filter, jobs };
    return jobs;
  }

  /** Show the pool that the address names; without one, the likeliest. */
  ask(id) {
    this.asked = id;
  }

  showPools(pools, jobs, counts) {
    const old = this.pool;
    if (this.asked !== null) this.pool = pools.find((pool) => pool.id.toLowerCase() === this.asked.toLowerCase())?.id ?? null;
    else if (!pools.some((pool) => pool.id === this.pool)) this.pool = likeliest(pools, jobs)?.id ?? null;
    if (old !== this.pool) this.forgetHistory();
    this.tabs.hidden = pools.length === 0;
    this.poolPart.hidden = this.pool === null;
    this.noPool.replaceChildren(...(this.pool === null ? [this.noSuchPool()] : []));
    sync(
      this.tabs,
      pools,
      (pool) => pool.id,
      (pool) => h("button", { type: "button", role: "tab", onclick: () => this.choosePool(pool.id) }, h("span"), " ", h("span")),
      (tab, pool) => {
        tab.setAttribute("aria-selected", String(pool.id === this.pool));
        tab.tabIndex = pool.id === (this.pool ?? pools[0].id) ? 0 : -1;
        const mark = poolMark(pool, counts.get(pool.id));
        put(tab.firstElementChild, `${pool.id} · ${number(size(pool))}`);
        tab.lastElementChild.className = mark ? `sign is-${mark.kind}` : "sign";
        put(tab.lastElementChild, mark?.text ?? "");
        tab.title = `${pool.id}: ${plural(size(pool), "node")}`;
      },
    );
  }

  noSuchPool() {
    if (this.asked === null) return empty("No pool yet. The first job brings one along:", "azbatch run -- echo hello");
    return empty(`There is no pool ${this.asked}. It may have been deleted.`);
  }

  choosePool(id) {
    this.pool = id;
    this.ask(id);
    window.history.replaceState(null, "", `#/pools/${encodeURIComponent(id)}`);
    for (const tab of this.tabs.children) tab.setAttribute("aria-selected", String(tab.dataset.key === id));
    this.forgetHistory();
    this.wanted();
  }

  async refreshPool(pool) {
    if (!pool) return history("", 0);
    const id = pool.id;
    const [nodes, past] = await Promise.all([list(path("pools", id, "nodes"), NODE_QUERY), history(id, this.until)]);
    if (id !== this.pool) return past;
    this.remember(past);
    const states = past.samples.at(-1)[4];
    this.showFacts(pool, states);
    this.nodes = nodes.items;
    this.grid.show(nodes.items, states);
    await this.grid.showDetail(id, past.now);
    this.formula = pool.enableAutoScale;
    this.drawHistory();
    return past;
  }

  remember(past) {
    const kept = this.samples.filter((sample) => sample[0] < past.samples[0][0]);
    // The last one was of that moment; it holds only if nothing has changed since.
    this.samples = [...kept, ...past.samples].slice(-2000);
    for (const span of past.spans) this.spans.set(`${span[0]} ${span[1]} ${span[2]} ${span[3]} ${span[4]}`, span);
    const running = new Set(past.spans.filter((span) => span[5] === null).map((span) => `${span[0]} ${span[1]} ${span[2]} ${span[3]} ${span[4]}`));
    for (const [key, span] of this.spans) if (span[5] === null && !running.has(key)) this.spans.delete(key);
    while (this.spans.size > KEPT_SPANS) this.spans.delete(this.spans.keys().next().value);
    this.until = past.now;
    this.now = past.now;
  }

  showFacts(pool, states) {
    const target = (pool.targetDedicatedNodes ?? 0) + (pool.targetLowPriorityNodes ?? 0);
    const total = Object.values(states).reduce((sum, count) => sum + count, 0);
    const last = this.samples.at(-1);
    this.facts.replaceChildren(
      fact(`${number(total)} / ${number(target)}`, "nodes"),
      fact(number(last[2]), "running tasks"),
      fact(number(last[1]), "waiting tasks"),
      fact(pool.allocationState, pool.enableAutoScale ? "by its formula" : "fixed size"),
      fact(pool.vmSize, `${pool.taskSlotsPerNode ?? 1} slot${(pool.taskSlotsPerNode ?? 1) === 1 ? "" : "s"} per node`),
    );
    const errors = [...(pool.resizeErrors ?? []), ...(pool.autoScaleRun?.error ? [pool.autoScaleRun.error] : [])];
    this.troubles.replaceChildren(...errors.map(trouble));
  }

  drawWindows() {
    this.windows.replaceChildren(
      ...WINDOWS.map(([minutes, label]) =>
        h("button", { type: "button", "aria-pressed": String(minutes === this.minutes), onclick: () => {
          this.minutes = minutes;
          for (const [at, button] of [...this.windows.children].entries()) button.setAttribute("aria-pressed", String(WINDOWS[at][0] === minutes));
          if (this.samples.length) this.drawHistory({ always: true });
        } }, label),
      ),
    );
  }

  drawHistory({ always = false } = {}) {
    const spans = [...this.spans.values()];
    const to = this.now;
    const starts = spans.reduce((least, span) => Math.min(least, span[4]), to);
    const first = Math.min(this.samples[0]?.[0] ?? to, starts);
    const from = Math.min(to - 20_000, this.minutes ? Math.max(first, to - this.minutes * 60_000) : first);
    const before = this.samples.findLastIndex((sample) => sample[0] <= from);
    this.charts.replaceChildren(charts(this.samples.slice(Math.max(0, before)), from, to, this.formula, this.charts.clientWidth || 500));
    this.timeline.show(this.nodes, spans, from, to, { always });
  }

  async showJobs({ items, next }, now) {
    const shown = items.slice(0, this.shown);
    await Promise.all(shown.map((job) => this.count(job)));
    this.noJob.replaceChildren(
      ...(items.length ? [] : [this.search ? empty("No job's id begins so.") : empty("No job yet. Run something:", "azbatch run -- echo hello")]),
    );
    sync(this.jobs, shown, (job) => job.id, makeJob, (item, job) => drawJob(item, job, this.counts.get(job.id)?.counts, now));
    this.more.hidden = items.length <= shown.length;
    put(this.more, `Show more of ${number(items.length)}${next ? " and more" : ""} jobs`);
  }

  /** The numbers of a job that is over do not change any more. */
  async count(job) {
    const known = this.counts.get(job.id);
    if (known?.state === FINAL && job.state === FINAL && known.since === job.stateTransitionTime) return;
    try {
      const counts = (await get(path("jobs", job.id, "taskcounts"))).taskCounts;
      this.counts.set(job.id, { state: job.state, since: job.stateTransitionTime, counts });
    } catch (error) {
      if (error.status !== 404) throw error; // it has just been deleted
    }
  }
}

const size = (pool) => (pool.currentDedicatedNodes ?? 0) + (pool.currentLowPriorityNodes ?? 0);

/** The pool to begin with: that of the latest job that goes on, else the latest that has nodes. */
function likeliest(pools, jobs) {
  const wanted = jobs.find((job) => job.state === "active")?.executionInfo?.poolId;
  return pools.find((pool) => pool.id === wanted) ?? pools.find((pool) => size(pool) > 0) ?? pools[0];
}

const fact = (value, label) => h("span", { class: "fact" }, h("b", null, value), ` ${label}`);

function walkTabs(event) {
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  const tabs = [...event.currentTarget.children];
  const at = tabs.indexOf(document.activeElement);
  if (!step || at < 0) return;
  event.preventDefault();
  const next = tabs[(at + step + tabs.length) % tabs.length];
  next.focus();
  next.click();
}

function makeJob(job) {
  return h(
    "li",
    null,
    h("a", { class: "job", href: `#/jobs/${encodeURIComponent(job.id)}` }, h("span", { class: "name" }, job.id), h("span", { class: "state" }), progress(), h("span", { class: "sums" }), h("span", { class: "when quiet" })),
  );
}

function drawJob(item, job, counts, now) {
  const [, state, bar, sums, when] = item.firstElementChild.children;
  const busy = (counts?.running ?? 0) > 0;
  if (state.dataset.seen !== `${job.state} ${busy}`) {
    state.dataset.seen = `${job.state} ${busy}`;
    state.replaceChildren(jobBadge(job.state, busy));
  }
  drawProgress(bar, counts);
  put(sums, counts ? sumsOf(counts) : "");
  put(when, `${job.executionInfo?.poolId ?? ""} · ${ago(now - Date.parse(job.creationTime))}`);
}

export function sumsOf(counts) {
  const done = counts.succeeded + counts.failed;
  const failed = counts.failed ? `, ${number(counts.failed)} failed` : "";
  return `${number(done)} of ${number(done + counts.running + counts.active)} done${failed}`;
}

export function progress() {
  return h("span", { class: "progress", role: "progressbar", "aria-valuemin": 0, "aria-valuemax": 100 }, ["success", "failure", "running"].map((kind) => h("span", { class: `part bar-${kind}` })));
}

export function drawProgress(bar, counts) {
  if (!counts) return;
  const total = Math.max(1, counts.succeeded + counts.failed + counts.running + counts.active);
  [counts.succeeded, counts.failed, counts.running].forEach((count, at) => {
    bar.children[at].style.width = `${(100 * count) / total}%`;
  });
  bar.setAttribute("aria-valuenow", Math.floor((100 * (counts.succeeded + counts.failed)) / total));
  bar.setAttribute("aria-label", sumsOf(counts));
}
