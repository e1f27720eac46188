"use strict";
// A model, an estimate or a test: its price comes as the form is filled and the slider moves; nothing is paid before the button.
const form = part("model"), NAMES = ["what", "table", "features", "target", "where", "value", "settings", "amount"];
let asked = null, timer = 0, current = null; // current: the request as it was understood last

const given = () => Object.fromEntries(NAMES.filter((name) => form.elements[name]).map((name) => [name, form.elements[name].value]));

async function price() {
  if (asked) asked.abort();
  if (!form.elements.features.value.trim()) { // nothing is asked yet
    part("price").replaceChildren();
    return problem("");
  }
  if (FACTS.nothing && !part("amount").value.trim()) {
    part("price").replaceChildren();
    part("pay").disabled = true; // nothing can be paid; an old request at its old price is still free
    return problem("");
  }
  const own = (asked = new AbortController());
  try {
    above(FACTS.leading, part("amount").value, "0.01");
    const told = await post("/models", given(), own.signal);
    if (own.signal.aborted) return;
    current = told.request;
    problem("");
    const lines = [`it promises ${told.promise}`, told.noise_in_words].map((text) => made("li", {}, text));
    part("price").replaceChildren(made("p", {}, made("b", { id: "cost" }, told.price.free ? "Free: it is on record." : told.price.in_words)), made("ul", {}, ...lines));
    part("pay").disabled = !told.price.free && (!told.price.affordable || Boolean(FACTS.nothing));
  } catch (failed) {
    if (own.signal.aborted) return;
    current = null;
    part("price").replaceChildren();
    part("pay").disabled = Boolean(FACTS.nothing);
    problem(failed.message);
  }
}
function change(event) {
  clearTimeout(timer);
  if (asked) asked.abort(); // a price that comes late is of another request
  current = null;
  timer = setTimeout(price, event?.target === part("slider") ? 200 : 700); // while it is typed nothing is said
}

part("look").hidden = true;
slides();
form.addEventListener("input", change);
form.addEventListener("submit", async (event) => {
  event.preventDefault();
  clearTimeout(timer);
  if (event.submitter !== part("pay")) return price(); // Enter in a field: it shows, and never pays
  part("pay").disabled = true;
  try {
    above(FACTS.leading, part("amount").value, "0.01");
    const found = current ?? (await post("/models", given())).request;
    const told = await post("/releases", found, undefined, { "Idempotency-Key": crypto.randomUUID?.() ?? String(Math.random()) });
    location.assign(`/datasets/${FACTS.dataset}/answers/${told.release ?? told.id}`);
  } catch (failed) {
    problem(failed.message);
    part("pay").disabled = Boolean(FACTS.nothing);
  }
});
if (form.elements.features.value.trim()) change();
