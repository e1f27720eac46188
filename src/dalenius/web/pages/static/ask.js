"use strict";
// Ask by a form or in SQL. Python makes the question of the form; prices come as the slider moves; nothing is paid before the button.
let way = "form", asked = null, timer = 0, current = null; // current: the question as it was understood last

// -- the form ------------------------------------------------------------------------------------
let number = 0;
// Columns of which something is declared come first: they are the ones that questions are about.
const declared = (each) => (each.bounds || each.categories || each.nulls || each.impute !== null ? 0 : 1);
const columns = () => [...(FACTS.tables[part("b-table").value] ?? [])].sort((a, b) => declared(a) - declared(b));
const numeric = (column) => column.kind === "integer" || column.kind === "number";
const labelled = (text, control) => {
  control.id = `b${++number}`;
  return made("div", {}, made("label", { for: control.id }, text), control);
};
const choice = (values, chosen) => made("select", {}, ...values.map(([value, text]) => made("option", { value, selected: value === chosen }, text)));

function askLine(first = "count") {
  const line = made("div", { class: "line", role: "group", "aria-label": "A number" });
  const what = choice(Object.entries(FACTS.whats).map(([name, { title }]) => [name, title]), first);
  const rest = made("div", { class: "line-rest", hidden: true });
  const remove = made("button", { type: "button", class: "plain", "aria-label": "Remove this number" }, "Remove");
  remove.addEventListener("click", () => {
    line.remove();
    change();
  });
  function fill() {
    const kind = FACTS.whats[what.value];
    for (const old of line.querySelectorAll("[data-of]")) old.remove();
    const add = (name, text, control) => {
      control.dataset.part = name;
      const box = labelled(text, control);
      box.dataset.of = name;
      line.insertBefore(box, remove);
      return control;
    };
    if (kind.column === "number") {
      const column = add("column", "of column", choice(columns().filter(numeric).map(({ column }) => [column, column])));
      const low = add("low", "lowest value", made("input", { inputmode: "decimal" }));
      const high = add("high", "highest value", made("input", { inputmode: "decimal" }));
      const known = () => {
        const bounds = columns().find((each) => each.column === column.value)?.bounds;
        [low, high].forEach((input, n) => {
          input.placeholder = bounds ? String(bounds[n]) : "public bound";
          input.value = "";
        });
      };
      column.addEventListener("change", known);
      known();
    }
    if (kind.column === "condition") add("column", "this holds", made("input", { placeholder: "age >= 40" }));
    if (kind.level) add("level", "level", made("input", { inputmode: "decimal", value: "0.9" }));
  }
  line.append(labelled("number", what), remove);
  what.dataset.part = "what";
  what.addEventListener("change", fill);
  fill();
  part("b-ask").append(line);
}
function whereLine() {
  const line = made("div", { class: "line", role: "group", "aria-label": "A condition" });
  const column = choice(columns().filter((each) => each.kind).map(({ column }) => [column, column]));
  const compares = choice(FACTS.compares.map((each) => [each, each]), ">=");
  const value = made("input", { maxlength: 1000 });
  const list = made("datalist", { id: `l${++number}` });
  const remove = made("button", { type: "button", class: "plain", "aria-label": "Remove this condition" }, "Remove");
  column.dataset.part = "column";
  compares.dataset.part = "compares";
  value.dataset.part = "value";
  value.setAttribute("list", list.id);
  const known = () => {
    const found = columns().find((each) => each.column === column.value);
    list.replaceChildren(...(found?.categories ?? []).map((each) => made("option", { value: String(each) })));
    if (found?.categories || found?.kind === "text") compares.value = "=";
  };
  column.addEventListener("change", known);
  known();
  remove.addEventListener("click", () => {
    line.remove();
    change();
  });
  line.append(labelled("column", column), labelled("compares", compares), labelled("value", value), list, remove);
  part("b-where").append(line);
}
function groups() {
  const found = columns().filter((each) => each.categories);
  part("b-by").replaceChildren(...found.map(({ column }) => {
    const box = made("input", { type: "checkbox", value: column });
    return made("label", {}, box, column);
  }));
  if (!found.length) part("b-by").append(made("span", { class: "soft" }, "No column has public categories; in SQL, groups can be listed."));
}
function read() {
  const number = (text) => (text === undefined || text.trim() === "" ? null : Number(text));
  const parts = (line) => Object.fromEntries([...line.querySelectorAll("[data-part]")].map((each) => [each.dataset.part, each.value]));
  const form = {
    where: [...part("b-where").children].map(parts).filter((each) => each.value.trim() !== "" || each.compares.startsWith("is ")),
    by: [...part("b-by").querySelectorAll("input:checked")].map((each) => each.value),
    ask: [...part("b-ask").children].map(parts).map((each) => {
      for (const name of ["low", "high", "level"]) if (name in each) each[name] = number(each[name]);
      return each;
    }),
  };
  for (const each of form.ask) for (const name of ["low", "high", "level"]) if (Number.isNaN(each[name])) throw new Error(`${name} must be a number.`);
  if (!form.ask.length) throw new Error("Add a number to ask for.");
  if (Object.keys(FACTS.tables).length > 1) form.table = part("b-table").value;
  return form;
}

// -- what it costs -------------------------------------------------------------------------------
function payment() {
  const confidence = Number(part("confidence").value), error = part("error").value.trim(), rows = part("rows").value.trim();
  if (!(confidence > 0 && confidence < 1)) throw new Error("The confidence must be a number between 0 and 1, as 0.95.");
  const expected = rows ? { rows: above("The rows in a group", rows, "1000") } : {};
  if (error) return { accuracy: { error: above("The error", error, "50"), confidence, ...expected } };
  const amount = part("amount").value.trim();
  const text = String(above(FACTS.leading, amount, "0.01"));
  const budget = { ...FACTS.left, [FACTS.leading]: /[.e]/.test(text) ? text : `${text}.0` };
  if ("delta" in budget && Number(amount) < left) budget.delta = String(Number((Number(FACTS.left.delta) * (Number(amount) / left)).toPrecision(3)));
  return { budget, confidence };
}
const shown = (value) => (Math.abs(value) >= 1000 ? Math.round(value).toLocaleString("en").replaceAll(",", " ") : String(Number(value.toPrecision(4))));

async function understood(signal) {
  if (way === "sql") return { question: { sql: part("sql").value }, said: "" };
  return post("/questions", read(), signal);
}
async function price() {
  if (asked) asked.abort();
  if (FACTS.nothing && !part("amount").value.trim() && !part("error").value.trim()) {
    part("pay").disabled = true; // nothing can be paid; an old question at its old price is still free
    return problem("");
  }
  const own = (asked = new AbortController());
  try {
    const pays = payment();
    const found = await understood(own.signal);
    const rows = Number(part("rows").value);
    const told = await post(rows > 0 && !pays.accuracy ? `/price?rows=${rows}` : "/price", { question: found.question, ...pays }, own.signal);
    if (own.signal.aborted) return;
    current = { ...pays, question: found.question };
    problem("");
    part("said").textContent = found.said ? `Asked: ${found.said}.` : "";
    const lines = told.errors.map((each) => made("li", {}, each.error === null || each.error === undefined ? each.why.replace(/say so: .*/, "write about how many, above.") : `${each.column}: off by ${shown(each.error)} at most, with confidence ${part("confidence").value}`));
    part("price").replaceChildren(made("p", {}, made("b", { id: "cost" }, told.free ? "Free: it is on record." : told.in_words)), made("ul", {}, ...lines));
    part("pay").disabled = !told.free && (!told.affordable || Boolean(FACTS.nothing));
    if (pays.accuracy && !FACTS.nothing) part("slider").value = positionOf(Number(told.budget[FACTS.leading]));
  } catch (failed) {
    if (own.signal.aborted) return;
    current = null;
    part("price").replaceChildren();
    part("said").textContent = "";
    part("pay").disabled = Boolean(FACTS.nothing);
    problem(failed.message);
  }
}
function change(event) {
  clearTimeout(timer);
  if (asked) asked.abort(); // a price that comes late is of another question
  current = null;
  // Of a SELECT that is being typed nothing is said before the hands rest.
  timer = setTimeout(price, event?.target === part("sql") ? 700 : 120);
}

// -- put together ----------------------------------------------------------------------------------
function turn(to) {
  way = to;
  for (const [name, tab, panel] of [["form", "by-form", "builder"], ["sql", "by-sql", "sql-box"]]) {
    part(tab).setAttribute("aria-selected", String(name === to));
    part(tab).tabIndex = name === to ? 0 : -1;
    part(panel).hidden = name !== to;
  }
  change();
}
document.querySelector(".tabs").hidden = false;
part("look").hidden = true;
part("b-table").append(...Object.keys(FACTS.tables).map((name) => made("option", { value: name }, name)));
part("table-choice").hidden = Object.keys(FACTS.tables).length < 2;
part("b-table").addEventListener("change", () => {
  part("b-where").replaceChildren();
  part("b-ask").replaceChildren();
  askLine();
  groups();
});
groups();
askLine();
part("b-more").addEventListener("click", () => {
  askLine("mean");
  change();
});
part("b-filter").addEventListener("click", () => {
  whereLine();
  part("b-where").lastElementChild.querySelector("select").focus();
});
for (const tab of ["by-form", "by-sql"]) {
  part(tab).addEventListener("click", () => turn(tab === "by-form" ? "form" : "sql"));
  part(tab).addEventListener("keydown", (event) => {
    if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
    const other = way === "form" ? "by-sql" : "by-form";
    part(other).click();
    part(other).focus();
  });
}
const quoted = (name) => (/^[A-Za-z_]\w*$/.test(name) ? name : `"${name.replaceAll('"', '""')}"`);
const words = [
  ...Object.entries(FACTS.tables).flatMap(([table, list]) => [
    { text: table, insert: quoted(table), kind: "table" },
    ...list.filter((each) => each.kind).map(({ column, kind }) => ({ text: column, insert: quoted(column), kind })),
  ]),
  ...FACTS.functions.map((name) => ({ text: name, insert: `${name}()`, kind: "function" })),
  ...FACTS.words.map((word) => ({ text: word, insert: word, kind: "" })),
];
completing(part("sql"), part("completions"), words);
slides(() => {
  part("error").value = ""; // an amount stands in its place
});
part("ask").addEventListener("input", change);
part("ask").addEventListener("change", change);
part("ask").addEventListener("submit", async (event) => {
  event.preventDefault();
  clearTimeout(timer);
  if (event.submitter !== part("pay")) return price(); // Enter in a field: it shows, and never pays
  part("pay").disabled = true;
  try {
    const found = current ?? { ...payment(), question: (await understood()).question };
    const told = await post("/releases", found, undefined, { "Idempotency-Key": crypto.randomUUID?.() ?? String(Math.random()) });
    location.assign(`/datasets/${FACTS.dataset}/answers/${told.release ?? told.id}`);
  } catch (failed) {
    problem(failed.message);
    part("pay").disabled = Boolean(FACTS.nothing);
  }
});
turn(part("sql").value.trim() !== part("sql").defaultValue.trim() || location.search.includes("sql=") ? "sql" : "form");
