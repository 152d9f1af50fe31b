"use strict";
const byId = id => document.getElementById(id);

async function ask(path, body) { // or throw the status, where there is an answer
  const sent = body && { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) };
  const answer = await fetch(path, { ...sent, signal: AbortSignal.timeout(20000) });
  if (!answer.ok) throw answer.status;
  return answer.json();
}

/* A link holds its secret after the #, which no server's log sees: change it for a cookie. */
async function enter() {
  const secret = location.hash.slice(1);
  history.replaceState(null, "", "/");
  try {
    location.replace((await ask("/in", { secret })).to);
  } catch {
    byId("message").hidden = true;
    byId("no-link").hidden = false;
  }
}

/* Rows wait in the browser's database until the server says that they are on its disk. */
class Queue {
  constructor(name) {
    this.rows = [];
    this.opened = new Promise(resolve => {
      const request = indexedDB.open(`voirdire ${name}`, 2);
      request.onupgradeneeded = () => request.result.createObjectStore("sent", { keyPath: "row.uuid" });
      request.onsuccess = () => resolve(request.result);
      request.onerror = () => resolve(null); // a private window: they wait in memory
    });
  }

  store(act) {
    return this.opened.then(database => database && new Promise(resolve => {
      const change = database.transaction("sent", "readwrite");
      const request = act(change.objectStore("sent"));
      change.oncomplete = () => resolve(request?.result);
      change.onabort = () => resolve(null);
    }));
  }

  async restore() {
    const kept = await this.store(rows => rows.getAll()) || [];
    this.rows = kept.sort((one, other) => one.at - other.at).map(each => each.row);
  }

  add(row) {
    this.rows.push(row);
    return this.store(rows => rows.add({ row, at: performance.timeOrigin + performance.now() }));
  }

  remove(uuids) {
    this.rows = this.rows.filter(row => !uuids.includes(row.uuid));
    return this.store(rows => uuids.forEach(uuid => rows.delete(uuid)));
  }
}

function label() {
  const base = location.pathname;
  const config = JSON.parse(byId("config").textContent);
  const say = (key, n) => config.say[`annotate.say.${key}`].replace("{n}", n);
  const queue = new Queue(config.queue);
  const tasks = new Map(); // by their place in this person's list
  const given = []; // what undo takes back, the last first
  const shown = new Set(); // sensitive items that were opened
  let total = 0, open = 0, place = 0, step = 0, began = 0, nRefused = 0, sending = false, loading = false, ended = false, waiting = null, lacking = null, noted = null;
  const make = (name, properties = {}, ...inside) => {
    const element = Object.assign(document.createElement(name), properties);
    element.append(...inside);
    return element;
  };
  const task = () => tasks.get(place);
  const key = () => task().questions[step][0];
  const isOpen = each => each.questions.some(([name]) => !(name in each.answers));
  const wide = matchMedia("(min-width: 56rem)");

  /* Saving */
  function showState() {
    const n = queue.rows.length;
    const state = ended ? "ended" : nRefused ? "refused" : !n ? "saved" : waiting || !navigator.onLine ? "offline" : "saving";
    const text = say(state, state === "refused" ? nRefused : n);
    const line = byId("state");
    if (line.textContent !== text) line.textContent = text;
    line.className = state;
  }

  function apply(each, row) {
    if (row.action === "answer") each.answers[row.question] = row.value;
    else if (row.action === "undo") delete each.answers[row.question];
    else if (row.action === "note") each.notes[row.question] = row.value;
    else each.flag = row.value;
  }

  function put(action, question, value, each = task()) {
    const was = isOpen(each);
    const seconds = action === "answer" ? Math.min((performance.now() - began) / 1000, 3600) : null;
    if (value?.toWellFormed) value = value.toWellFormed(); // half a sign, which no file could hold
    const row = { uuid: crypto.randomUUID(), task: each.key, action, question, value, seconds };
    apply(each, row);
    open += isOpen(each) - was;
    queue.add(row);
    send();
  }

  async function send() {
    showState();
    if (sending || ended || !queue.rows.length) return;
    sending = true;
    clearTimeout(waiting);
    try {
      while (queue.rows.length) {
        const { saved, refused } = await ask(`${base}/answers`, queue.rows.slice(0, 20));
        nRefused += refused.length;
        await queue.remove([...saved, ...refused]);
        waiting = null;
        showState();
      }
      if (!tasks.size || place >= total - 1 || !tasks.has(place + 5)) await load();
    } catch (status) {
      ended = status === 401;
      waiting = setTimeout(send, 2500);
    } finally {
      sending = false;
      showState();
    }
  }

  /* Loading: several items ahead; where this one is missing, some before it too */
  async function load() {
    const near = Array.from({ length: 9 }, (_, n) => place + n).filter(n => n < total && !tasks.has(n));
    if (loading || ended || (total && !near.length)) return;
    const from = near[0] === place ? Math.max(place - 10, 0) : near[0];
    loading = true;
    try {
      const page = await ask(`${base}/tasks${total ? `?from=${from}` : ""}`);
      const isFirst = !total, wasHere = task();
      total = page.total;
      for (const each of page.tasks) if (!tasks.has(each.n)) tasks.set(each.n, each);
      const closed = new Set();
      for (const row of queue.rows) {
        for (const each of tasks.values()) {
          if (each.key !== row.task) continue;
          apply(each, row);
          if (!isOpen(each) && !each.done) closed.add(each.key);
        }
      }
      open = page.open - closed.size;
      if (isFirst) {
        [place, step] = [page.at, 0];
        goOn();
      } else if (!wasHere) show();
      showCounts();
    } catch (status) {
      ended = status === 401; // else again below
    } finally {
      loading = false;
      showState();
      clearTimeout(lacking);
      if (!total || (!task() && place < total)) lacking = setTimeout(load, 2500);
    }
  }

  /* Moving */
  function goOn() { // to the first question from here on that has no answer
    for (; place < total; place++, step = 0) {
      const each = task();
      if (!each) break;
      const next = each.questions.findIndex(([name], n) => n >= step && !(name in each.answers));
      if (next >= 0) {
        step = next;
        break;
      }
    }
    show();
  }

  function move(by) {
    const each = task();
    if (each && each.questions[step + by]) step += by;
    else if (by < 0 && place > 0) {
      place -= 1;
      step = task() ? task().questions.length - 1 : 0;
    } else if (by > 0 && each && place < total && key() in each.answers) [place, step] = [place + 1, 0];
    show();
    if (!task()) load();
  }

  function answer(value) {
    const each = task(), name = key();
    put("answer", name, value);
    given.push([place, step]);
    const text = byId("draft");
    if (text) localStorage.removeItem(text.dataset.key);
    showCounts();
    const right = each.practice && each.practice.right;
    if (right && name in right) {
      const plain = x => JSON.stringify(Array.isArray(x) ? [...x].sort() : x);
      const is = plain(right[name]) === plain(value);
      showAnswers();
      byId("feedback").className = is ? "right" : "wrong";
      const why = each.practice.why && ` ${each.practice.why}`;
      byId("feedback").textContent = (is ? say("right") : say("wrong", nameOf(right[name]))) + why;
      byId("answers").replaceChildren(goButton(goOn, say("next")));
      byId("answers").firstChild.focus({ preventScroll: true });
    } else goOn();
    load();
  }

  function undo() {
    const last = given.pop();
    if (!last) return;
    [place, step] = last;
    put("undo", key(), null);
    show();
  }

  function choices() { // of a question with buttons: what is said, what it means, its value
    const question = config.questions[task().questions[step][1]];
    const [low, high] = question.range;
    if (question.kind === "boolean") return [[say("yes"), "", true], [say("no"), "", false]];
    if (question.kind === "pairwise") return [["A", say("better"), "A"], ["B", say("better"), "B"], [say("tie"), "", "tie"]];
    if (question.kind !== "scale") return question.labels.map(([name, text]) => [name, text, name]);
    if (!Number.isInteger(low) || !Number.isInteger(high) || high - low > 8) return [];
    const meaning = new Map(question.levels);
    return Array.from({ length: high - low + 1 }, (_, n) => [String(low + n), meaning.get(low + n) || "", low + n]);
  }

  const nameOf = value => value === null ? say("cannot") : Array.isArray(value) ? value.join(", ") || say("none")
    : (choices().find(each => each[2] === value) || [String(value)])[0];
  const goButton = (act, text, hint = "Enter") => make("button", { type: "button", className: "go", onclick: act }, text, " ", make("kbd", {}, hint));

  /* Showing */
  function showCounts() {
    const [before, after] = config.say["annotate.say.left"].split("{n}");
    byId("left").replaceChildren(before, make("b", {}, String(open)), after);
    byId("bar").value = total ? (total - open) / total : 0;
  }

  function showAnswers() {
    const each = task(), question = config.questions[each.questions[step][1]];
    const now = each.answers[key()], has = key() in each.answers, box = byId("answers");
    const button = (n, [name, text, value], press, pressed) => {
      const element = make("button", { type: "button", onclick: press }, ...(n <= 9 ? [make("kbd", {}, String(n))] : []),
        make("span", {}, name, ...(text ? [" ", make("small", {}, text)] : [])));
      element.setAttribute("aria-pressed", String(pressed(value)));
      if (n <= 9) element.setAttribute("aria-keyshortcuts", String(n));
      return element;
    };
    const options = choices();
    const cannot = button(0, [say("cannot"), "", null], () => answer(null), value => has && now === value);
    cannot.className = "cannot";
    if (question.kind === "multilabel") {
      const chosen = new Set(now || []);
      const go = goButton(() => answer(options.map(x => x[2]).filter(x => chosen.has(x))), "");
      const name = () => { go.firstChild.textContent = say(chosen.size ? "next" : "none"); };
      name();
      box.replaceChildren(...options.map((option, n) => button(n + 1, option, event => {
        chosen[chosen.has(option[2]) ? "delete" : "add"](option[2]);
        event.currentTarget.setAttribute("aria-pressed", String(chosen.has(option[2])));
        name();
      }, value => chosen.has(value))), go, cannot);
    } else if (options.length) {
      box.replaceChildren(...options.map((option, n) => button(n + 1, option, () => answer(option[2]), value => has && now === value)), cannot);
    } else { // text, or a number; what is typed stays when the page is closed
      const isText = question.kind === "text", [low, high] = question.range;
      const field = make(isText ? "textarea" : "input", isText ? { rows: 5, maxLength: 20000 } : { type: "number", min: low, max: high, step: "any" });
      field.id = "draft";
      field.dataset.key = `${config.queue} ${each.key} ${key()}`;
      field.value = localStorage.getItem(field.dataset.key) ?? now ?? "";
      field.setAttribute("aria-labelledby", "question");
      field.oninput = () => localStorage.setItem(field.dataset.key, field.value);
      const go = () => {
        const value = isText ? field.value.trim() : field.valueAsNumber;
        if (isText ? value : value >= low && value <= high) answer(value);
        else field.focus();
      };
      field.onkeydown = event => {
        if (event.key === "Enter" && (!isText || event.ctrlKey || event.metaKey)) go();
      };
      const range = isText ? [] : [make("p", {}, `${low} – ${high}`)];
      box.replaceChildren(field, ...range, goButton(go, say("next"), isText ? "Ctrl+Enter" : "Enter"), cannot);
    }
  }

  const notice = (text, ...buttons) => make("div", { className: "notice" }, make("p", {}, text), ...buttons);

  function showItem() {
    const each = task(), box = byId("item");
    if (each.sensitive && !shown.has(each.key)) {
      const button = goButton(() => { shown.add(each.key); show(); }, say("show"));
      const skip = () => {
        for (const [name] of each.questions) if (!(name in each.answers)) put("answer", name, null);
        goOn();
      };
      const text = each.sensitive === true ? say("sensitive") : `${say("sensitive")} ${each.sensitive}`;
      box.replaceChildren(notice(text, button, " ", make("button", { type: "button", onclick: skip }, say("leave"))));
      button.focus();
      return false;
    }
    const part = (kind, name, text, images = []) => make("article", { className: `said ${kind}` }, make("h2", {}, name),
      make("div", { className: "text" }, ...(text ? [text] : [])), ...images.map(src => make("img", { src, alt: say("image"), referrerPolicy: "no-referrer" })));
    const names = each.responses.length > 1 ? ["A", "B"] : [say("response")];
    const role = name => config.say[`annotate.say.role.${name}`] || name;
    const judged = each.responses.map((text, n) => part("judged", names[n], text));
    box.replaceChildren(...each.messages.map(([who, text, images]) => part(who === "user" ? "user" : "other", role(who), text, images)),
      ...(judged.length > 1 ? [make("div", { className: "pair" }, ...judged)] : judged),
      ...(each.reference ? [part("reference", say("reference"), each.reference)] : []));
    return true;
  }

  let onScreen = null;
  function show() {
    const each = task(), panel = byId("panel");
    showCounts();
    byId("feedback").textContent = "";
    panel.hidden = !each;
    if (!each) {
      onScreen = null;
      const back = make("button", { type: "button", onclick: () => move(-1) }, say("back"));
      const isDone = place >= total;
      byId("item").replaceChildren(notice(say(isDone ? "finished" : "none_here"), ...(isDone && place ? [back] : [])));
      return;
    }
    if (onScreen !== each.key || !byId("item").querySelector(".said")) {
      const isShown = showItem();
      if (onScreen !== each.key) byId("item").scrollTop = 0;
      onScreen = each.key;
      panel.inert = !isShown;
      if (!isShown) return;
    }
    panel.inert = false;
    const [name, id, criterion] = each.questions[step], question = config.questions[id];
    const n = each.questions.length;
    byId("step").textContent = [each.practice && say("practice"), n > 1 && say("step", step + 1).replace("{m}", n)].filter(Boolean).join(" · ");
    byId("question").textContent = question.text;
    byId("criterion").textContent = criterion;
    const lists = question.examples.flatMap((texts, place) => texts.length
      ? [make("h3", {}, say(place ? "examples_no" : "examples_yes")), make("ul", {}, ...texts.map(text => make("li", { className: "text" }, text)))] : []);
    byId("examples").hidden = !lists.length;
    byId("examples").lastElementChild.replaceChildren(...lists);
    byId("flag").setAttribute("aria-pressed", String(each.flag));
    byId("note").className = each.notes[name] ? "full" : "";
    byId("undo").disabled = !given.length;
    showAnswers();
    byId("ask").scrollTop = 0;
    began = performance.now();
    const field = wide.matches && byId("draft"); // on a phone it would open the keyboard
    (field || byId("question")).focus({ preventScroll: true });
  }

  /* Keys */
  function act(name) {
    if (name === "help") byId("help").showModal();
    if (name === "undo") undo();
    if (name === "back") move(-1);
    if (name === "forward") move(1);
    if (!task() || byId("panel").inert) return;
    if (name === "flag") {
      put("flag", "", !task().flag);
      byId("flag").setAttribute("aria-pressed", String(task().flag));
    }
    if (name === "note") {
      noted = [task(), key()];
      byId("note-text").value = noted[0].notes[noted[1]] || "";
      byId("note-box").showModal();
    }
  }
  const keys = { u: "undo", f: "flag", n: "note", "?": "help", ArrowLeft: "back", ArrowRight: "forward" };
  document.addEventListener("keydown", event => {
    if (event.repeat || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    if (/^(TEXTAREA|INPUT)$/.test(event.target.tagName)) {
      if (event.key === "Escape") event.target.blur();
      return;
    }
    const buttons = [...byId("answers").querySelectorAll(`[aria-keyshortcuts="${CSS.escape(event.key)}"]`)];
    const isFree = !event.target.closest("button, a, summary"), go = document.querySelector(".go");
    if (event.key === "Enter" && isFree && go) go.click();
    else if (buttons.length && !byId("panel").inert && !byId("panel").hidden) buttons[0].click();
    else if (keys[event.key]) act(keys[event.key]);
    else return;
    event.preventDefault();
  });
  for (const name of ["back", "undo", "flag", "note"]) byId(name).onclick = () => act(name);
  byId("help-button").onclick = () => act("help");
  byId("note-box").onclose = () => {
    const text = byId("note-text").value.trim(), [each, name] = noted;
    if (text !== (each.notes[name] || "")) put("note", name, text, each);
    byId("note").className = text ? "full" : "";
  };
  byId("examples").open = wide.matches;
  addEventListener("online", send);
  addEventListener("offline", showState);
  addEventListener("beforeunload", event => { // without a connection the page would not open again
    if (waiting || !navigator.onLine) event.preventDefault();
  });
  addEventListener("pagehide", () => { if (queue.rows.length) send(); });
  document.addEventListener("visibilitychange", () => { began = performance.now(); });
  setInterval(() => { if (place >= total) { total = 0; tasks.clear(); load(); } }, 30000); // items may be added
  queue.restore().then(() => load()).then(send);
}

if (document.body.dataset.page === "enter") enter();
if (document.body.dataset.page === "label") label();
