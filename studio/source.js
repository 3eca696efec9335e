// Where documents come from: a server, or the page itself (what `seqloom look` wrote). Both answer alike.
//
// In the page: <script type="application/json" id="documents">[{"path", "request", "answer"}, …]</script>, where `request`
// is what would be asked (of a GET its query); fields that are null or empty do not count. What is not there is a Fault.

export class Fault extends Error {}

const KEPT = 200; // answers; the same question is not asked twice

class Source {
  #kept = new Map();

  models(signal) { return this.#once("models", {}, signal); }
  flow(model, signal) { return this.#once("flow", { model }, signal); }
  answer(request, signal) { return this.#once("answer", request, signal); }
  trace(request, signal) { return this.#once("trace", request, signal); }
  box(request, box, signal) { return this.#once("box", { ...request, box }, signal); }
  /** which: {weights: "light"} leaves the weights out where they are many ([heads, 0, 0]); {layer} is one of them, whole. */
  attention(request, which, signal) { return this.#once("attention", this.live ? { ...request, ...which } : request, signal); }
  influence(request, signal) { return this.#once("influence", request, signal); }
  beam(request, signal) { return this.#once("beam", request, signal); }
  /** Never kept: a training may be under way. */
  training(model, signal) { return this.ask("training", { model }, signal); }
  /** {"step"} … {"answer"}, one after the other. request.prefix: ids of the tokens that the answer must begin with. */
  write(request, signal) { return this.lines("write", request, signal); }

  async #once(path, request, signal) {
    const key = keyOf(path, request);
    if (this.#kept.has(key)) return this.#kept.get(key);
    const answer = await this.ask(path, request, signal);
    if (this.#kept.size >= KEPT) this.#kept.delete(this.#kept.keys().next().value);
    this.#kept.set(key, answer);
    return answer;
  }
}

const GETS = new Set(["models", "flow", "training"]);

class Served extends Source {
  /** Any input can be asked for. */
  live = true;
  #base = new URL("api/", import.meta.url);
  #token = sessionStorage.getItem("token");

  async ask(path, request, signal) {
    return (await this.#fetched(path, request, signal)).json();
  }

  async *lines(path, request, signal) {
    const answer = await this.#fetched(path, request, signal);
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (;;) {
      const { done, value } = await reader.read();
      const parts = (rest + (value ?? "")).split("\n");
      rest = done ? "" : parts.pop();
      for (const part of parts) if (part.trim()) yield told(JSON.parse(part));
      if (done) return;
    }
  }

  async #fetched(path, request, signal) {
    const asked = GETS.has(path);
    const url = new URL(path, this.#base);
    if (asked) url.search = new URLSearchParams(meant(request)).toString();
    const headers = asked ? {} : { "Content-Type": "application/json" };
    if (this.#token) headers.Authorization = `Bearer ${this.#token}`;
    const nothing = request?.input === "" ? { input: "" } : {}; // a text can begin from it
    const body = asked ? undefined : JSON.stringify({ ...meant(request), ...nothing });
    let answer;
    try {
      answer = await fetch(url, { method: asked ? "GET" : "POST", headers, body, signal });
    } catch (error) {
      if (error.name === "AbortError") throw error;
      throw new Fault("The server does not answer; is `seqloom serve` still running?");
    }
    if (answer.ok) return answer;
    if (answer.status === 401 && this.#askedForToken()) return this.#fetched(path, request, signal);
    throw new Fault(await faultOf(answer));
  }

  #askedForToken() {
    const given = window.prompt("This server wants a token:");
    if (!given) return false;
    this.#token = given;
    sessionStorage.setItem("token", given);
    return true;
  }
}

class Embedded extends Source {
  live = false;
  #documents;

  constructor(documents) {
    super();
    this.#documents = new Map(documents.map(({ path, request, answer }) => [keyOf(path, request), answer]));
  }

  async ask(path, request) {
    const found = this.#documents.get(keyOf(path, request));
    if (found === undefined) throw new Fault("This file does not hold that; with `seqloom serve` everything can be asked.");
    return found;
  }

  async *lines(path, request) {
    const answer = await this.ask("answer", request);
    for (const step of answer.steps ?? []) yield { step };
    yield { answer };
  }
}

export function openSource() {
  const written = document.getElementById("documents");
  return written ? new Embedded(JSON.parse(written.textContent)) : new Served();
}

function told(line) {
  if (line.error) throw new Fault(line.error.message ?? line.error);
  return line;
}

async function faultOf(answer) {
  try {
    const { error } = await answer.json();
    return error.message ?? error;
  } catch {
    return `The server answered ${answer.status}.`;
  }
}

/** Without fields that say nothing. */
function meant(request) {
  const empty = (value) => value === null || value === undefined || value === ""
    || (typeof value === "object" && Object.keys(value).length === 0);
  return Object.fromEntries(Object.entries(request ?? {}).filter(([, value]) => !empty(value)));
}

const keyOf = (path, request) => `${path} ${JSON.stringify(sorted(meant(request)))}`;

function sorted(value) {
  if (Array.isArray(value)) return value.map(sorted);
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.keys(value).sort().map((key) => [key, sorted(value[key])]));
}
