"use strict";
// The bounds of a privacy report, as dalenius.adaptive.personal computes them, and a form to ask for one's own.
const SLACK = 1e-9;
const padded = (bound) => bound * (1 + SLACK) + SLACK;
const square = (row) => row.reduce((sum, v) => sum + v * v, 0);
const length = (row) => Math.sqrt(square(row));
const clip = (v, low, high) => Math.min(Math.max(v, low), high);
const expit = (u) => (u >= 0 ? 1 / (1 + Math.exp(-u)) : Math.exp(u) / (1 + Math.exp(u)));

function reached(row, ball, box, rounding) {
  const side = ball * (length(row) + rounding);
  if (box === null) return side;
  return Math.min(side, box * (row.reduce((sum, v) => sum + Math.abs(v), 0) + rounding * Math.sqrt(row.length)));
}

function labelOf(labels, given) {
  if (labels.kind === "classes") return given === 1 ? 1 : 0; // the form says which of the two
  if (labels.kind === "counts") return Math.min(given, labels.high);
  const middle = labels.low / 2 + labels.high / 2, spread = labels.high / 2 - labels.low / 2;
  return clip((given - middle) / spread, -1, 1);
}

function rowOf(fields, record) {
  const columns = fields.columns ?? fields.features.map((name) => ({ name, categories: null })), ends = fields.ends ?? fields.bounds;
  let place = 0;
  let row = columns.flatMap(({ categories }, n) => {
    const name = categories === null ? fields.features[place] : columns[n].name;
    place += categories === null ? 1 : categories.length;
    return categories === null ? [record[name]] : categories.map((_, k) => (record[name] === k ? 1 : 0)); // the form says which
  });
  if (ends !== null)
    row = row.map((v, n) => {
      const [low, high] = ends[n], half = high / 2 - low / 2;
      return (clip(v, low, high) - (low + half)) / half / Math.sqrt(columns.length);
    });
  const most = Math.max(...row.map(Math.abs)), scale = most > 0 ? most : 1;
  const size = scale * length(row.map((v) => v / scale));
  const factor = size <= fields.row_norm * 1e-280 ? 1 : fields.row_norm / size;
  row = row.map((v) => v * (fields.normalize ? factor : Math.min(factor, 1)));
  if (fields.constant > 0) row.push(fields.constant);
  return row;
}

function slopes(loss, u, y, reach, off) {
  if (loss.weights) {
    const plain = { kind: loss.kind.replace("weighted_", ""), size: loss.size };
    return slopes(plain, u, y, reach, off).map((v) => v * loss.weights[y]);
  }
  const [low, high] = [u - reach, u + reach];
  let first, last, ends, bend;
  if (loss.kind === "huber_hinge") {
    const sign = 2 * y - 1;
    ends = [Math.min(-sign, 0), Math.max(-sign, 0)];
    [first, last] = [low, high].map((end) => (end - sign) / (2 * loss.size) - sign / 2);
    bend = 0.5 / loss.size;
  } else {
    const mean = { logistic: expit, huber: (v) => v, clipped_poisson: (v) => Math.exp(Math.min(v, 700)) }[loss.kind];
    ends = [-loss.size, loss.size];
    [first, last] = [mean(low) - y - off, mean(high) - y + off];
    const p = expit(clip(0, low, high));
    bend = { logistic: p * (1 - p), huber: 1, clipped_poisson: Math.min(mean(high), y + loss.size + off) }[loss.kind];
  }
  if (last < ends[0] || first > ends[1]) bend = 0;
  return [clip(first, ...ends), clip(last, ...ends), bend];
}

function leverage(release, constants, row, bend) {
  const whole = (length(row) + release.row_rounding) ** 2;
  const most = release.rows * Math.log1p((bend * whole) / release.ridge);
  const c = constants.curvature;
  if (c === null) return [most, most, 0];
  const squares = row.map((_, k) => row.reduce((sum, v, j) => sum + v * c.vectors[j][k], 0) ** 2);
  const mixtures = c.inverses[0].map((_, a) => squares.reduce((sum, s, k) => sum + s * c.inverses[k][a], 0));
  const found = release.rows * bend * Math.min(...mixtures), moved = release.rows * bend * whole;
  const inside = found < 1 ? -Math.log1p(-found) : Infinity;
  const outside = release.rows * Math.log1p(found / release.rows);
  return [Math.min(most, inside), Math.min(most, outside), c.linear * moved + c.square * moved * moved];
}

const BOUNDS = {
  perturbed_objective(release, constants, row, y, member) {
    const u = row.reduce((sum, v, n) => sum + v * release.theta[n], 0), size = length(row) + release.row_rounding;
    const reach = constants.reach * size + release.row_rounding * length(release.theta);
    const [low, high, bend] = slopes(release.loss, u, y, reach, release.label_rounding);
    const steep = Math.max(Math.abs(low), Math.abs(high));
    const flat = low * high > 0 ? Math.min(Math.abs(low), Math.abs(high)) : 0;
    const scale = constants.scale / release.rows;
    const linear = (steep * reached(row, constants.ball, constants.box, release.row_rounding)) / scale;
    const [most, least] = [steep, flat].map((f) => constants.square * ((f * size) / scale) ** 2);
    const [inside, outside, extra] = leverage(release, constants, row, bend);
    const found = member === false ? Math.max(linear + most, linear - least + outside) : linear + most + inside;
    return padded(found + extra + constants.extra);
  },
  noisy_statistics(release, constants, row, y) {
    const size = length(row) + release.row_rounding;
    const gram = constants.gram * size * size, product = constants.product * (Math.abs(y) + release.label_rounding);
    const both = (gram * gram) / 2 + (product * size) ** 2;
    if (constants.tau === null) return padded(both / 2 + Math.sqrt(both) * constants.ball);
    const away = reached(row, constants.ball, constants.box, release.row_rounding);
    return padded(both / 2 + (gram * constants.tau) / 2 + product * away);
  },
  worst_case: (release, constants) => (constants.bound === null ? Infinity : constants.bound),
};

const DATA = JSON.parse(document.getElementById("report").textContent);

function epsilon(record, statement, member) {
  const said = DATA.statements[statement];
  const total = DATA.releases.reduce((sum, release, n) => {
    const f = release.fields;
    const [row, y] = f ? [rowOf(f, record), labelOf(f.labels, record[f.target])] : [[], 0];
    return sum + BOUNDS[release.kind](release, said.constants[n], row, y, member);
  }, 0);
  return Math.min(total, said.most === null ? Infinity : said.most);
}

const drawn = (name, attributes, text) => {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const key in attributes) element.setAttribute(key, attributes[key]);
  if (text !== undefined) element.textContent = text;
  return element;
};
// Bounds are rounded up, but for the 1e-9 to which this page computes them.
const up = (v, digits) => (Math.ceil((v - 1e-9) * 10 ** digits) / 10 ** digits).toFixed(digits);
const told = (v) => (Number.isFinite(v) ? up(v, v < 0.1 ? 4 : 3) : "no bound");
const percent = (v) => up(100 / (1 + Math.exp(-v)), 1) + " %";

function picture(own, worst) {
  const svg = document.getElementById("picture"), width = 420, top = Math.max(own, worst);
  svg.replaceChildren(drawn("title", {}, "Your bound " + told(own) + ", the largest possible " + told(worst)));
  [["you", own, "#3b7dba"], ["anybody, at most", worst, "#9aa6af"]].forEach(([name, value, fill], n) => {
    const long = Number.isFinite(top) && top > 0 ? (value / top) * width : width;
    svg.append(drawn("text", { x: 0, y: 22 + 40 * n }, name));
    svg.append(drawn("rect", { x: 130, y: 6 + 40 * n, width: Math.max(long, 1), height: 22, rx: 3, fill }));
    svg.append(drawn("text", { x: 138 + Math.max(long, 1), y: 22 + 40 * n }, told(value)));
  });
}

function show() {
  const form = document.getElementById("form"), record = {};
  for (const input of form.querySelectorAll("[data-field]")) {
    const value = input.value.trim() === "" ? NaN : Number(input.value);
    if (!Number.isFinite(value) || (input.dataset.least !== undefined && value < Number(input.dataset.least))) {
      document.getElementById("answer").textContent = "Fill in every field, numbers as numbers, to see your bound.";
      document.getElementById("picture").replaceChildren(drawn("title", {}, "Nothing to show yet"));
      return;
    }
    record[input.dataset.field] = value;
  }
  const statement = form.elements.statement.value;
  const member = { yes: true, no: false, unsaid: null }[form.elements.member.value];
  const own = epsilon(record, statement, member), worst = DATA.statements[statement].worst ?? Infinity;
  const who = statement === "everyone" ? "for every possible record at once" : "for you alone";
  document.getElementById("answer").textContent = Number.isFinite(own)
    ? `What was released cost you at most ε = ${told(own)}. Whoever thought it was even odds that your record is among ` +
      `the data can now be at most ${percent(own)} sure, either way. Nobody's bound is above ε = ${told(worst)} ` +
      `(${percent(worst)}). This holds ${who}, but for a chance of ${DATA.failure} over the noise.`
    : `There is no bound that fails with a chance of ${DATA.failure} only: something that was released has a larger ` +
      "one of its own, its delta.";
  picture(own, worst);
}

document.getElementById("form").addEventListener("input", show);
document.getElementById("form").addEventListener("submit", (event) => event.preventDefault()); // nothing leaves
show();
window.privacyReport = { epsilon, statements: DATA.statements };
