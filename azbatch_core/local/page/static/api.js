// The door to the REST API: reading only, with the session's cookie. One place knows how requests look.

const VERSION = "2025-06-01";

export class Refused extends Error {
  constructor(status, code, text) {
    super(text);
    this.status = status;
    this.code = code;
  }
}

async function refusal(response) {
  let body = {};
  try {
    body = await response.json();
  } catch {
    // A HEAD has no body, and an answer that was cut off is none.
  }
  const reason = (body.values ?? []).find((pair) => pair.key === "Reason" || pair.key === "AuthenticationErrorDetail");
  const message = (body.message?.value ?? `status ${response.status}`).split("\n")[0];
  return new Refused(response.status, body.code ?? "", reason?.value ?? message);
}

async function ask(url, options) {
  const response = await fetch(url, { cache: "no-store", credentials: "same-origin", ...options });
  if (!response.ok) throw await refusal(response);
  return response;
}

export const path = (...parts) => parts.map((part) => `/${encodeURIComponent(part)}`).join("");

export function apiUrl(where, query = {}) {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== "");
  return `api${where}?${new URLSearchParams([["api-version", VERSION], ...given])}`;
}

export async function get(where, query) {
  return (await ask(apiUrl(where, query))).json();
}

/** One page of a list: its items, and the token of the next page. */
export async function list(where, query) {
  const body = await get(where, query);
  const next = body["odata.nextLink"];
  return { items: body.value, next: next ? new URL(next).searchParams.get("$skiptoken") : null };
}

/** What happened in a pool since a moment; without a pool only the service's time. */
export async function history(pool, since) {
  return (await ask(`history?${new URLSearchParams({ pool, since: Math.max(0, Math.floor(since)) })}`)).json();
}

/** The waiting tasks of a job that never run, and the failed task that each depends on in the end. */
export async function blocked(job) {
  return (await (await ask(`blocked?${new URLSearchParams({ job })}`)).json()).blocked;
}

export async function fileSize(where) {
  const response = await ask(apiUrl(where), { method: "HEAD" });
  return Number(response.headers.get("content-length") ?? 0);
}

export async function fileBytes(where, start, end) {
  const response = await ask(apiUrl(where), { headers: { "ocp-range": `bytes=${start}-${end - 1}` } });
  return new Uint8Array(await response.arrayBuffer());
}

/** Hand in the code of the address, if it has one; whether there is a session. */
export async function openSession() {
  const code = /^#code=(.+)$/.exec(location.hash)?.[1];
  if (code) {
    window.history.replaceState(null, "", `${location.pathname}#/`);
    await ask("session", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ code }),
    });
  }
  return (await (await ask("session")).json()).open;
}
