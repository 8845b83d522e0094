// The session, which view is shown, and when it asks again.

import { history, openSession } from "./api.js";
import { empty, fullTime, h, put } from "./dom.js";
import { JobView } from "./job.js";
import { Overview } from "./overview.js";
import { TaskView } from "./task.js";

const EVERY_MS = 2000;
const AT_MOST_MS = 30_000;
// Of its time, the service spends at most a tenth on this page.
const SHARE = 10;

const main = document.getElementById("main");
const notice = document.getElementById("notice");
const clock = document.getElementById("clock");
const live = document.getElementById("live");
const overview = new Overview();
let view = null;
let timer = null;
let asking = false;
let again = false;
let failures = 0;

function viewOf(hash) {
  const parts = wordsOf(hash);
  if (parts[0] === "jobs" && parts[1] && parts[2] === "tasks" && parts[3]) return new TaskView(parts[1], parts[3]);
  if (parts[0] === "jobs" && parts[1]) return new JobView(parts[1]);
  if (parts[0] === "pools" && parts[1] && parts.length === 2) overview.ask(parts[1]);
  else if (parts.join("") === "") overview.ask(null);
  else return nowhere();
  return overview;
}

function wordsOf(hash) {
  const words = hash.replace(/^#\/?/, "").split("/");
  try {
    return words.map(decodeURIComponent);
  } catch {
    return words;
  }
}

/** Nothing is at this address: neither a pool, a job nor a task. */
function nowhere() {
  const back = h("p", { class: "crumbs" }, h("a", { href: "#/" }, "Overview"));
  const element = h("section", { class: "card" }, back, empty("There is no such page. Addresses are #/pools/…, #/jobs/… and #/jobs/…/tasks/…."));
  return { title: "azbatch local", element, refresh: () => history("", 0) };
}

function route() {
  view = viewOf(location.hash);
  view.wanted = () => refresh();
  document.title = view.title;
  main.replaceChildren(view.element);
  window.scrollTo(0, 0);
  refresh();
}

async function refresh() {
  clearTimeout(timer);
  if (view === null) return;
  if (asking) {
    again = true;
    return;
  }
  asking = true;
  again = false;
  const asked = view;
  const began = performance.now();
  let wait = EVERY_MS;
  try {
    const time = await asked.refresh();
    failures = 0;
    say("live", "live");
    showClock(time);
  } catch (error) {
    if (asked === view) wait = trouble(error);
  }
  asking = false;
  if (view === null) return;
  if (again || asked !== view) refresh();
  else if (wait !== null) later(Math.min(AT_MOST_MS, Math.max(wait, (performance.now() - began) * SHARE)));
}

function later(wait) {
  clearTimeout(timer);
  if (document.hidden) say("paused", "paused while hidden");
  else timer = setTimeout(refresh, wait);
}

/** How long to wait after a failure; null: there is no point in it. */
function trouble(error) {
  if (error.status === 403 || error.status === 401) {
    leave(error.message);
    return null;
  }
  if (error.status === 404 && view !== overview) {
    main.replaceChildren(h("section", { class: "card" }, h("p", { class: "crumbs" }, h("a", { href: "#/" }, "Overview")), h("div", { class: "empty" }, h("p", null, `${error.message} It may have been deleted.`))));
    return null;
  }
  failures += 1;
  say("lost", error.status ? `the service says: ${error.message}` : "the service does not answer; trying again");
  return EVERY_MS * 2 ** Math.min(4, failures - 1);
}

function say(kind, text) {
  live.className = `live is-${kind}`;
  put(live, text);
}

function showClock({ now, virtual }) {
  put(clock, `${fullTime(now)}${virtual ? " (virtual clock)" : ""}`);
}

function leave(reason) {
  removeEventListener("hashchange", route);
  view = null;
  say("lost", "no session");
  put(document.getElementById("reason") ?? notice, reason);
  main.replaceChildren(notice);
}

document.addEventListener("visibilitychange", () => {
  if (view === null) return;
  if (document.hidden) later(0);
  else refresh();
});
document.getElementById("skip").addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
});
// An address with a new code, given to a tab that shows the page already: begin anew with it.
addEventListener("hashchange", () => location.hash.startsWith("#code=") && location.reload());
put(document.getElementById("where"), location.host);

try {
  if (await openSession()) {
    addEventListener("hashchange", route);
    route();
  } else {
    say("lost", "no session");
  }
} catch (error) {
  leave(error.message);
}
