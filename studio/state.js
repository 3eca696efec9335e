// What is looked at, kept in the address, so that a link restores it:
//   #/flow?model=dates&input=3%20May&target=…&box=encoder.blocks.0.mixer
// An input that is no text stands in `data`, as JSON, or is the number of an `example`; `changes` and `settings` are JSON too. `prefix` is ids, with spaces.

const SHARED = ["model", "input", "data", "example", "target", "prefix", "changes", "settings"];
const JSON_FIELDS = new Set(["data", "changes", "settings"]);

export class State {
  /** models: as in the document; fields: of the address. gone: told when another view or input is looked at. */
  constructor(models, view, fields, gone, changed) {
    Object.assign(this, { models, view, fields, gone, changed });
    /** The entry of `models` that is looked at. */
    this.model = models.find((model) => model.name === fields.model) ?? models[0];
  }

  /** A text, or a list or table of another form; the model's first example, where the address names none. */
  get input() {
    const { data, input, example } = this.fields;
    return data ?? input ?? this.model.examples?.[example ?? 0] ?? this.model.examples?.[0] ?? "";
  }
  /** The answer to force, or null. */
  get target() { return this.fields.target ?? null; }
  /** Ids of tokens that the answer must begin with: what somebody chose among the alternatives. */
  get prefix() { return (this.fields.prefix ?? "").split(" ").filter(Boolean).map(Number); }
  get changes() { return this.fields.changes ?? []; }
  get settings() { return this.fields.settings ?? {}; }

  /** One of the view's own fields: text. */
  get(name, otherwise = null) { return this.fields[name] ?? otherwise; }

  /** What is asked: state.request(), state.request({changes: []}). */
  request(more = {}) {
    const { input, target, prefix, changes, settings } = this;
    return { model: this.model.name, input, target, prefix, changes, settings, ...more };
  }

  /** Notes fields in the address; nothing is drawn again: the view has done so itself. */
  keep(fields) {
    this.fields = joined(this.fields, fields);
    history.replaceState(null, "", written(this.view, this.fields));
    this.changed?.();
  }

  /** Goes there: the view (or another: {view: "beam"}) is drawn again, and the browser's back button leads here. */
  go({ view = this.view, ...fields }) { location.hash = this.link({ view, ...fields }); }

  /** The address of it, for href. */
  link({ view = this.view, ...fields }) {
    const kept = view === this.view ? this.fields : only(this.fields, SHARED);
    return written(view, joined(kept, fields));
  }

  /** The fields of an input of whatever form. */
  static input(value) {
    return typeof value === "string" ? { input: value, data: null, example: null } : { input: null, data: value, example: null };
  }

  /** The fields of one of the model's examples: long ones are named by their number. */
  static example(examples, index) {
    return typeof examples[index] === "string" ? State.input(examples[index]) : { input: null, data: null, example: String(index) };
  }
}

export function read(hash) {
  const [path, query = ""] = hash.replace(/^#\/?/, "").split("?");
  const fields = Object.fromEntries(new URLSearchParams(query));
  for (const name of JSON_FIELDS) {
    if (!(name in fields)) continue;
    try {
      fields[name] = JSON.parse(fields[name]);
    } catch {
      delete fields[name]; // an address that somebody wrote by hand
    }
  }
  return [path, fields];
}

function written(view, fields) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(fields)) query.set(name, JSON_FIELDS.has(name) ? JSON.stringify(value) : value);
  const said = query.toString();
  return `#/${view}${said && `?${said}`}`;
}

function joined(fields, more) {
  const kept = Object.entries({ ...fields, ...more }).filter(([, value]) => value !== null && value !== undefined && value !== "");
  return Object.fromEntries(kept.filter(([name, value]) => !(name === "changes" && value.length === 0)));
}

const only = (fields, names) => Object.fromEntries(Object.entries(fields).filter(([name]) => names.includes(name)));
