"use strict";

// Fields that matter for one choice only are shown with it; without this script all of them are there.
for (const part of document.querySelectorAll("[data-when]")) {
  const [name, value] = part.dataset.when.split("=");
  const choices = document.getElementsByName(name);
  const look = () => {
    const chosen = [...choices].find((each) => each.tagName === "SELECT" || each.checked);
    part.hidden = !chosen || chosen.value !== value;
  };
  for (const each of choices) each.addEventListener("change", look);
  look();
}

// The ledger looks for more by itself, as long as somebody looks at it.
const fresh = document.getElementById("fresh");
if (fresh) {
  const every = 1000 * Number(fresh.dataset.every);
  let failures = 0;
  const look = async () => {
    const part = document.getElementById("now");
    if (document.hidden || part.contains(document.activeElement)) return;
    try {
      const answer = await fetch(`${fresh.dataset.from}?seen=${encodeURIComponent(part.dataset.seen)}`);
      if (answer.status === 200) {
        const page = new DOMParser().parseFromString(await answer.text(), "text/html");
        part.replaceWith(page.getElementById("now"));
        fresh.textContent = `New at ${new Date().toLocaleTimeString()}.`;
      } else if (answer.status !== 204) {
        throw new Error(String(answer.status));
      } else if (failures) {
        fresh.textContent = "";
      }
      failures = 0;
    } catch {
      failures += 1;
      fresh.textContent = "The page cannot look for more at this moment; load it again.";
    }
  };
  setInterval(look, every);
  document.addEventListener("visibilitychange", look);
}
