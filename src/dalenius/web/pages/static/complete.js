"use strict";
// Completion in the SQL box: columns, tables, functions and words. Arrows choose, Tab or Enter takes, Escape leaves.
function completing(box, list, words) {
  let found = [], chosen = 0, from = 0;

  function part() {
    const before = box.value.slice(0, box.selectionStart);
    return /[\p{L}_][\p{L}\p{N}_]*$/u.exec(before)?.[0] ?? "";
  }
  function close() {
    list.hidden = true;
    box.removeAttribute("aria-activedescendant");
  }
  function draw() {
    list.replaceChildren(...found.map(({ text, kind }, n) => {
      const item = document.createElement("li");
      item.id = `completion-${n}`;
      item.setAttribute("role", "option");
      item.setAttribute("aria-selected", String(n === chosen));
      const what = document.createElement("small");
      what.textContent = kind;
      item.append(text, " ", what);
      item.addEventListener("mousedown", (event) => {
        event.preventDefault();
        chosen = n;
        take();
      });
      return item;
    }));
    box.setAttribute("aria-activedescendant", `completion-${chosen}`);
    list.hidden = false;
  }
  function take() {
    const { insert } = found[chosen], at = box.selectionStart;
    box.setRangeText(insert, from, at, "end");
    if (insert.endsWith(")")) box.selectionStart = box.selectionEnd = box.selectionStart - 1;
    close();
    box.dispatchEvent(new Event("input", { bubbles: true }));
  }
  box.addEventListener("input", (event) => {
    const typed = part().toLowerCase();
    if (!event.isTrusted || typed.length < 1) return close();
    from = box.selectionStart - typed.length;
    found = words.filter(({ text }) => text.toLowerCase().startsWith(typed) && text.toLowerCase() !== typed).slice(0, 8);
    chosen = 0;
    if (found.length) draw();
    else close();
  });
  box.addEventListener("keydown", (event) => {
    if (list.hidden) return;
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      chosen = (chosen + (event.key === "ArrowDown" ? 1 : found.length - 1)) % found.length;
      draw();
    } else if (event.key === "Enter" || event.key === "Tab") take();
    else if (event.key === "Escape") close();
    else return;
    event.preventDefault();
  });
  box.addEventListener("blur", close);
}
