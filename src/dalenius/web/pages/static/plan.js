"use strict";
// The planner: sliders move, the server computes, the newest answer is drawn. What was seen once is not asked for again.
const form = document.getElementById("plan");
const part = (name) => document.getElementById(name);
const KEPT = 500;
const seen = new Map(); // a plan's query -> what is known of it, complete
let later = 0, saying = 0, touched = null;

const positions = 120;
function valueAt(slider, position) {
  const { least, most, whole, even } = slider.dataset;
  const [low, high] = [Number(least), Number(most)], share = position / positions;
  const value = even !== undefined ? low + share * (high - low) : low * (high / low) ** share;
  return whole !== undefined ? String(Math.round(value)) : String(Number(value.toPrecision(even !== undefined ? 4 : 3)));
}
function positionOf(slider, value) {
  const { least, most, even } = slider.dataset, low = Number(least), high = Number(most);
  const inside = Math.min(Math.max(value, low), high);
  const share = even !== undefined ? (inside - low) / (high - low) : Math.log(inside / low) / Math.log(high / low);
  return Math.round(share * positions);
}

function query(change) {
  const given = new URLSearchParams(new FormData(form));
  if (change) given.set(...change);
  return given.toString();
}

async function ask(text, wait, signal, priority) {
  const response = await fetch(`/api/v1/plan?${text}&wait=${wait}`, { signal, priority, headers: { Accept: "application/json" } });
  const found = await response.json();
  if (!response.ok) throw new Error(found.detail || found.title || "this plan cannot be computed");
  if (found.complete) {
    seen.set(text, found);
    if (seen.size > KEPT) seen.delete(seen.keys().next().value);
  }
  return found;
}

function draw(found) {
  part("curve").setAttribute("d", found.path);
  part("below").setAttribute("d", found.path + " L400 400 L0 400 Z");
  part("epsilon").textContent = found.epsilon_text;
  part("at").textContent = found.delta_text;
  part("advantage").textContent = found.advantage_text;
  part("note").textContent = found.note;
  part("said").textContent = found.said;
  part("lead").textContent = found.beliefs_lead;
  part("release").textContent = found.release;
  part("words").replaceChildren(...found.words.map((line) => row("p", line)));
  part("beliefs").replaceChildren(...found.beliefs.map(({ before, after }) => {
    const line = document.createElement("tr");
    line.append(row("td", before), row("td", after));
    return line;
  }));
  part("link").href = found.link;
  clearTimeout(later);
  later = setTimeout(() => { // browsers allow few changes of the address in a short time
    history.replaceState(null, "", found.link);
    if (found.complete) ahead();
  }, 250);
  clearTimeout(saying);
  saying = setTimeout(() => { // once the slider rests, not at every step
    part("live").textContent = `Epsilon at most ${found.epsilon_text}, membership advantage at most ${found.advantage_text}. ${found.note}`;
  }, 600);
}
function row(name, text) {
  const element = document.createElement(name);
  element.textContent = text;
  return element;
}

function problem(text) {
  part("problem").textContent = text;
  part("problem").hidden = !text;
}

// One question at a time: what is on its way is drawn when it comes, and then the newest position is asked for. A hand that
// moves faster than the line skips positions, and sees all that the line can bring. Only refining is broken off.
let going = false, refining = null;
async function show() {
  if (refining) refining.abort();
  const moved = performance.now(), known = seen.get(query());
  if (known) {
    problem("");
    draw(known);
    performance.measure("slider to curve", { start: moved });
    return;
  }
  if (!going) follow(moved);
}
async function follow(moved) {
  going = true;
  let text = null, found = null, start = moved;
  while (text !== query()) {
    text = query();
    try {
      found = seen.get(text) ?? (await ask(text, 0.015, undefined, "high"));
      problem("");
      draw(found);
      performance.measure("slider to curve", { start });
    } catch (failed) {
      found = null;
      if (text === query()) problem(failed.message);
    }
    start = performance.now();
  }
  going = false;
  if (found && !found.complete) refine(text);
}
async function refine(text) {
  if (refining) refining.abort();
  const own = (refining = new AbortController());
  try {
    for (let n = 0, complete = false; !complete && n < 20; n++) {
      const found = await ask(text, 1, own.signal, "auto");
      if (own.signal.aborted || text !== query()) return;
      draw(found);
      complete = found.complete;
    }
  } catch (failed) {
    if (!own.signal.aborted) problem(failed.message);
  }
}

async function ahead() {
  // The next positions of the slider in hand, while it rests: moving on then shows them at once.
  if (!touched) return;
  const slider = touched, name = slider.dataset.for, place = Number(slider.value), before = query();
  for (const step of [1, -1, 2, -2, 3, -3]) {
    if (query() !== before || going) return;
    const position = place + step;
    if (position < 0 || position > positions) continue;
    const text = query([name, valueAt(slider, position)]);
    for (let n = 0; !seen.has(text) && n < 5 && query() === before; n++) await ask(text, 0.9, undefined, "low").catch(() => {});
  }
}

for (const slider of form.querySelectorAll("input[type=range]")) {
  const field = part(slider.dataset.for);
  slider.hidden = false;
  slider.value = positionOf(slider, Number(field.value));
  slider.setAttribute("aria-valuetext", field.value);
  slider.addEventListener("input", () => {
    field.value = valueAt(slider, Number(slider.value));
    slider.setAttribute("aria-valuetext", field.value);
    touched = slider;
    show();
  });
  field.addEventListener("input", () => {
    if (field.value.trim() === "" || !Number.isFinite(Number(field.value))) return;
    slider.value = positionOf(slider, Number(field.value));
    slider.setAttribute("aria-valuetext", field.value);
    show();
  });
}
for (const choice of form.querySelectorAll("select")) choice.addEventListener("change", show);
form.addEventListener("submit", (event) => {
  event.preventDefault();
  show();
});
part("go").hidden = true;
part("copy").hidden = !navigator.clipboard;
part("copy").addEventListener("click", async () => {
  await navigator.clipboard.writeText(new URL(part("link").getAttribute("href"), location.href).href);
  part("copied").textContent = "Copied.";
});
if (part("note").textContent.includes("follows")) show();
