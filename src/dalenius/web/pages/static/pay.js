"use strict";
// What the pages that ask have in common: talking to the API, and the slider between cost and noise. Nothing is paid here.
const part = (name) => document.getElementById(name);
const FACTS = JSON.parse(part("facts").textContent);
const API = `/api/v1/datasets/${FACTS.dataset}`;
const csrf = document.querySelector("meta[name=csrf]").content;

async function post(path, body, signal, more = {}, tries = 3) {
  const headers = { "Content-Type": "application/json", "X-CSRF-Token": csrf, ...more };
  const response = await fetch(API + path, { method: "POST", headers, body: JSON.stringify(body), signal });
  const later = Number(response.headers.get("Retry-After"));
  if (tries && later > 0 && later <= 5) { // much is planned at this moment; nothing is asked twice
    await new Promise((done) => setTimeout(done, 1000 * later));
    return post(path, body, signal, more, tries - 1);
  }
  const found = await response.json();
  if (!response.ok) throw new Error(`${found.detail} ${found.fix ?? ""}`);
  return found;
}
const made = (name, attributes = {}, ...inside) => {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) if (value !== false && value !== null) element.setAttribute(key, value === true ? "" : value);
  element.append(...inside);
  return element;
};
function problem(text) {
  part("problem").textContent = text;
  part("problem").hidden = !text;
}


// -- the slider: from a thousandth of what is left to all of it, in even ratios -----------------------
const left = Number(FACTS.left[FACTS.leading]), root = FACTS.leading === "mu";
const amountAt = (position) => {
  const share = 10 ** (-3 + (3 * position) / 100);
  const value = left * (root ? Math.sqrt(share) : share);
  const digits = 10 ** (2 - Math.floor(Math.log10(value)));
  return String(Number((Math.floor(value * digits) / digits).toPrecision(3)));
};
const positionOf = (amount) => {
  const share = (amount / left) ** (root ? 2 : 1);
  return Math.round(Math.min(100, Math.max(0, ((Math.log10(share) + 3) / 3) * 100)));
};
function above(name, text, example) {
  const value = Number(text);
  if (!(value > 0 && Number.isFinite(value))) throw new Error(`${name} must be a number above 0, as ${example}.`);
  return value;
}
function slides(onSlide) {
  const slider = part("slider"), amount = part("amount"), tell = () => slider.setAttribute("aria-valuetext", `${FACTS.leading} ${amount.value}`);
  part("sliding").hidden = Boolean(FACTS.nothing); // there is nothing to slide over
  if (!FACTS.nothing && Number(amount.value) > 0) slider.value = positionOf(Number(amount.value));
  tell();
  slider.addEventListener("input", () => {
    amount.value = amountAt(Number(slider.value));
    tell();
    onSlide?.();
  });
  amount.addEventListener("input", () => {
    if (Number(amount.value) > 0 && !FACTS.nothing) slider.value = positionOf(Number(amount.value));
    tell();
    onSlide?.();
  });
}
