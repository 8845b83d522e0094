// One task: what it is, how it ended, its files, and its output as it comes.

import { apiUrl, blocked, fileBytes, fileSize, get, history, list, path } from "./api.js";
import { ago, bytes, clockTime, duration, empty, fullTime, h, plural, put, shortNode, sync } from "./dom.js";
import { taskLink } from "./nodes.js";
import { badge, taskKind, trouble } from "./states.js";

const FILES = { recursive: "true", maxresults: 200 };
const OUTPUTS = ["stdout.txt", "stderr.txt"];
const TAIL = 64 * 1024;
const AT_ONCE = 256 * 1024;
const KEPT = 400_000;
const GONE = new Set(["TaskFilesUnavailable", "TaskFilesCleanedup", "OperationInvalidForCurrentState", "FileNotFound", "NodeNotFound"]);

export class TaskView {
  constructor(job, id) {
    this.job = job;
    this.id = id;
    this.title = `${id} – ${job}`;
    this.root = path("jobs", job, "tasks", id);
    this.wanted = () => {};
    this.state = h("span");
    this.facts = h("dl", { class: "dl" });
    this.command = h("pre", { class: "command" }, h("code"));
    this.trouble = h("div");
    this.log = new Log(this.root);
    this.log.wanted = () => this.wanted();
    this.files = h("ul", { class: "files" });
    this.noFiles = h("div");
    this.element = h(
      "div",
      null,
      h(
        "section",
        { class: "card" },
        h("p", { class: "crumbs" }, h("a", { href: "#/" }, "Overview"), " / ", h("a", { href: `#/jobs/${encodeURIComponent(job)}` }, job), " / task"),
        h("div", { class: "row" }, h("h1", null, id), this.state),
        this.trouble,
        this.command,
        this.facts,
      ),
      h("section", { class: "card" }, this.log.element),
      h("section", { class: "card" }, h("h2", null, "Files"), this.files, this.noFiles),
    );
  }

  async refresh() {
    const [task, time] = await Promise.all([get(this.root), history("", 0)]);
    const cause = task.state === "active" && task.dependsOn ? (await blocked(this.job))[task.id] : undefined;
    this.show(task, cause, time.now);
    await Promise.all([this.log.refresh(), this.refreshFiles(task)]);
    return time;
  }

  show(task, cause, now) {
    const info = task.executionInfo ?? {};
    const kind = cause ? "blocked" : taskKind(task);
    this.state.replaceChildren(badge(kind));
    put(this.command.firstElementChild, task.commandLine);
    const failure = info.failureInfo;
    const never = cause && h("p", { class: "trouble" }, "It never runs: it depends on ", taskLink(this.job, cause, cause), ", which failed.");
    this.trouble.replaceChildren(...[failure && trouble(failure), never].filter(Boolean));
    const started = info.startTime && Date.parse(info.startTime);
    const ended = info.endTime ? Date.parse(info.endTime) : now;
    const facts = [
      ["Exit code", info.exitCode ?? "–"],
      ["Took", started ? duration(ended - started) : "–"],
      ["Started", started ? `${clockTime(started)} (${ago(now - started)})` : "–"],
      ["Created", fullTime(Date.parse(task.creationTime))],
      ["Node", task.nodeInfo?.nodeId ? shortNode(task.nodeInfo.nodeId) : "–"],
      ["Pool", task.nodeInfo?.poolId ?? "–"],
      ["Retries", info.retryCount ?? 0],
      ["Slots", task.requiredSlots ?? 1],
    ];
    sync(
      this.facts,
      facts,
      ([name]) => name,
      ([name]) => h("div", null, h("dt", null, name), h("dd")),
      (pair, [, value]) => put(pair.lastElementChild, value),
    );
    this.log.live = kind === "running";
  }

  async refreshFiles(task) {
    if (task.state === "completed" && this.settled) return;
    let items = [];
    try {
      const found = await list(`${this.root}/files`, FILES);
      items = found.items.filter((file) => !file.isDirectory);
      this.settled = task.state === "completed";
      put(this.noFiles, found.next ? "Only the first 200 are shown." : "");
    } catch (error) {
      if (!GONE.has(error.code)) throw error;
      this.noFiles.replaceChildren(empty(task.state === "active" || task.state === "preparing" ? "No files yet: the task has not run." : error.message));
    }
    sync(
      this.files,
      items,
      (file) => file.name,
      (file) => this.makeFile(file),
      (item, file) => put(item.lastElementChild, `${bytes(file.properties?.contentLength ?? 0)} · ${clockTime(Date.parse(file.properties?.lastModified))}`),
    );
  }

  makeFile(file) {
    const where = `${this.root}/files/${encodeURIComponent(file.name)}`;
    return h(
      "li",
      null,
      h("button", { type: "button", class: "link", onclick: () => {
        this.log.choose(file.name);
        this.log.element.scrollIntoView({ block: "nearest" });
      } }, file.name),
      h("a", { href: apiUrl(where), download: file.name.split("/").at(-1), "aria-label": `download ${file.name}` }, "download"),
      h("span", { class: "quiet" }),
    );
  }
}

/** The end of a file, and what is added to it. */
class Log {
  constructor(root) {
    this.root = root;
    this.name = OUTPUTS[0];
    this.names = [...OUTPUTS];
    this.live = false;
    this.wanted = () => {};
    this.tabs = h("div", { class: "choice", role: "group", "aria-label": "file shown" });
    this.text = h("pre", { class: "log", tabindex: 0, role: "log", "aria-label": "output" });
    this.note = h("p", { class: "quiet" });
    this.follow = h("input", { type: "checkbox", checked: true });
    this.element = h(
      "div",
      null,
      h("div", { class: "row" }, h("h2", null, "Output"), this.tabs, h("label", { class: "follow" }, this.follow, " follow")),
      this.text,
      this.note,
    );
    this.reset();
  }

  reset() {
    this.at = null;
    this.decoder = new TextDecoder();
    this.text.replaceChildren();
    this.shown = 0;
    sync(
      this.tabs,
      this.names,
      (name) => name,
      (name) => h("button", { type: "button", onclick: () => this.choose(name) }, name),
      (button, name) => button.setAttribute("aria-pressed", String(name === this.name)),
    );
  }

  choose(name) {
    this.name = name;
    this.names = [...OUTPUTS, ...(OUTPUTS.includes(name) ? this.names.slice(2) : [name])].slice(0, 3);
    this.reset();
    this.wanted();
  }

  async refresh() {
    const name = this.name;
    const where = `${this.root}/files/${encodeURIComponent(name)}`;
    let size;
    try {
      size = await fileSize(where);
    } catch (error) {
      if (error.status !== 404 && error.status !== 409) throw error;
      put(this.note, "Nothing to show: the task has not written this file here.");
      return;
    }
    if (name !== this.name) return;
    if (this.at !== null && size < this.at) this.reset(); // another try of the task began anew
    this.at ??= Math.max(0, size - TAIL);
    const cut = this.at;
    if (size > cut) {
      const part = await fileBytes(where, cut, Math.min(size, cut + AT_ONCE));
      if (name !== this.name || cut !== this.at) return;
      this.at = cut + part.length;
      this.append(this.decoder.decode(part, { stream: true }));
    }
    const left = size - this.at;
    const missing = this.at - this.shown > 0 ? `Its last ${bytes(this.shown)} of ${bytes(size)}. ` : "";
    put(this.note, size === 0 ? `It is empty${this.live ? " so far" : ""}.` : `${missing}${left > 0 ? `${plural(left, "byte")} to come. ` : ""}${this.live ? "More is shown as it is written." : ""}`);
  }

  append(text) {
    this.text.append(text);
    this.shown += new Blob([text]).size;
    while (this.text.childNodes.length > 1 && this.shown > KEPT) {
      this.shown -= new Blob([this.text.firstChild.data]).size;
      this.text.firstChild.remove();
    }
    if (this.follow.checked) this.text.scrollTop = this.text.scrollHeight;
  }
}
