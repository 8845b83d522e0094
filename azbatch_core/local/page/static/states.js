// What states look like: a colour, a sign and a word, never the colour alone.

import { h, number } from "./dom.js";

export const NODE_GROUPS = {
  running: { sign: "▶", label: "running" },
  idle: { sign: "○", label: "idle" },
  coming: { sign: "…", label: "starting" },
  leaving: { sign: "↓", label: "leaving" },
  off: { sign: "–", label: "off" },
  bad: { sign: "✕", label: "broken" },
};

const GROUP_OF = {
  running: "running",
  idle: "idle",
  creating: "coming",
  starting: "coming",
  waitingforstarttask: "coming",
  rebooting: "coming",
  reimaging: "coming",
  upgradingos: "coming",
  leavingpool: "leaving",
  deallocating: "leaving",
  offline: "off",
  preempted: "off",
  deallocated: "off",
  starttaskfailed: "bad",
  unusable: "bad",
  unknown: "bad",
};

export const nodeGroup = (state) => GROUP_OF[state] ?? "off";

/** Numbers of nodes by group, from numbers by state. */
export function grouped(states) {
  const groups = {};
  for (const [state, count] of Object.entries(states)) groups[nodeGroup(state)] = (groups[nodeGroup(state)] ?? 0) + count;
  return groups;
}

export const TASK_KINDS = {
  active: { sign: "○", label: "waiting" },
  preparing: { sign: "…", label: "preparing" },
  running: { sign: "▶", label: "running" },
  success: { sign: "✓", label: "succeeded" },
  failure: { sign: "✕", label: "failed" },
  stopped: { sign: "■", label: "stopped" },
  blocked: { sign: "⊘", label: "blocked" },
};

/** What a pool's tab says beside its size, so that one in trouble does not look like all others; null: all is well. */
export function poolMark(pool, counts) {
  if (pool.state === "deleting") return { kind: "leaving", text: "↓ deleting" };
  const states = [counts?.dedicated, counts?.lowPriority].flatMap((found) => Object.entries(found ?? {}));
  const broken = states.reduce((sum, [state, count]) => sum + (GROUP_OF[state.toLowerCase()] === "bad" ? count : 0), 0);
  if (broken) return { kind: "bad", text: `✕ ${number(broken)} broken` };
  const error = pool.resizeErrors?.[0];
  if (error) return { kind: "bad", text: error.code.includes("Quota") ? "✕ quota reached" : "✕ resize failed" };
  if (pool.autoScaleRun?.error) return { kind: "bad", text: "✕ formula failed" };
  return pool.allocationState === "steady" ? null : { kind: "coming", text: `… ${pool.allocationState}` };
}

/** An error of any resource, with all that its record tells. */
export function trouble(error) {
  const pairs = error.details ?? error.values ?? error.errorDetails ?? [];
  return h("p", { class: "trouble" }, h("b", null, error.code), `: ${error.message}`, pairs.map((pair) => h("span", { class: "detail-line" }, `${pair.name}: ${pair.value}`)));
}

export function taskKind(task) {
  if (task.state !== "completed") return task.state;
  return task.executionInfo?.result === "failure" ? "failure" : "success";
}

export function badge(kind, label = TASK_KINDS[kind]?.label ?? kind) {
  return h("span", { class: `badge is-${kind}` }, h("span", { "aria-hidden": "true" }, TASK_KINDS[kind]?.sign ?? "•"), ` ${label}`);
}

const JOB_KINDS = {
  active: "running",
  completed: "success",
  disabled: "stopped",
  disabling: "stopped",
  enabling: "preparing",
  terminating: "preparing",
  deleting: "preparing",
};

/** A job stays active when there is nothing (more) to run; it looks busy only while a task of it runs. */
export const jobBadge = (state, busy) => badge(state === "active" && !busy ? "active" : (JOB_KINDS[state] ?? "stopped"), state);

/** Why a task failed, in one line. */
export function whyFailed(info) {
  if (!info) return "";
  const failure = info.failureInfo;
  if (!failure) return "";
  if (failure.code === "FailureExitCode") return `exit code ${info.exitCode}`;
  return `${failure.code}: ${(failure.message ?? "").split("\n")[0]}`;
}

export function legend(entries) {
  return h(
    "ul",
    { class: "legend" },
    entries.map(([name, { sign, label }, count]) =>
      h(
        "li",
        null,
        h("span", { class: `sign is-${name}`, "aria-hidden": "true" }, sign),
        count === undefined ? label : [h("b", null, String(count)), ` ${label}`],
      ),
    ),
  );
}
