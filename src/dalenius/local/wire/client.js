"use strict";
// A client of a dalenius local survey: a person's answer in, a report out, and nothing else leaves. No dependencies.
// All chances are whole numbers out of 2^64, and all random decisions are comparisons of whole numbers.
// The format is described in docs/local-wire-format.md of dalenius.
const daleniusLocal = (() => {
  const WORDS = 1n << 64n, GRID = 2 ** 32, MOST = 2 ** 27; // no quotient is rounded up to a whole number
  const word = () => crypto.getRandomValues(new BigUint64Array(1))[0];
  const coin = (threshold) => word() < BigInt(threshold);
  const below = (m) => {
    const size = BigInt(m), limit = WORDS - (WORDS % size);
    let drawn = word();
    while (drawn >= limit) drawn = word();
    return Number(drawn % size);
  };
  const heads = (threshold) => { let found = 0; while (coin(threshold)) found++; return found; };
  const respond = (truth, k, fits) => {
    if (coin(fits)) return truth;
    const other = below(k - 1);
    return other >= truth ? other + 1 : other;
  };
  const hexadecimal = (bits) => {
    const row = new Uint8Array(Math.ceil(bits.length / 8));
    bits.forEach((bit, n) => { if (bit) row[n >> 3] |= 1 << (n & 7); });
    return Array.from(row, (byte) => byte.toString(16).padStart(2, "0")).join("");
  };
  const odd = (n) => { let bit = 0; for (; n > 0; n &= n - 1) bit ^= 1; return bit === 1; };
  const unary = (p, v) => hexadecimal(Array.from({ length: p.k }, (_, n) => coin(n === v ? p.own : p.other)));
  const between = (v, steps) => { // one of steps + 1 places, at random so that the mean is kept
    const place = BigInt(v) * BigInt(steps), part = Number(place % BigInt(GRID));
    return Number(place / BigInt(GRID)) + (below(GRID) < part ? 1 : 0);
  };
  const bit = (v, fits) => respond(below(GRID) < v ? 1 : 0, 2, fits);
  const piecewise = (p, v) => {
    const start = between(v, p.steps);
    if (coin(p.fits)) return start + below(p.window);
    const other = below(p.steps);
    return other < start ? other : other + p.window;
  };
  const laplace = (p, v) => {
    const start = between(v, p.steps) + p.margin, noise = heads(p.on) - heads(p.on);
    return Math.min(Math.max(start + noise, 0), p.steps + 2 * p.margin);
  };
  const odds = (threshold) => Number(BigInt(threshold)) / Number(WORDS - BigInt(threshold));
  // The logarithm of the largest ratio of chances, of a coin for this many places that fit and that do not.
  const tells = (threshold, inside, outside) => Math.log((odds(threshold) * outside) / inside);
  const fits = (sizes) => ({ coins: ["fits"], tells: (p) => [tells(p.fits, ...sizes(p))] });
  const pair = { coins: ["own", "other"], tells: (p) => [Math.log(odds(p.own) / odds(p.other))] };
  // For each kind its whole numbers, how a report is drawn, its coins and what they tell.
  // A kind is for answers 0 .. k - 1 if k is among its numbers, and else for numbers within bounds.
  const kinds = {
    randomized_response: { whole: ["k"], draw: (p, v) => respond(v, p.k, p.fits), ...fits((p) => [1, p.k - 1]) },
    optimized_unary_encoding: { whole: ["k"], draw: unary, ...pair },
    symmetric_unary_encoding: { whole: ["k"], draw: unary, ...pair },
    hadamard_response: {
      whole: ["k", "blocks", "block_size"],
      draw: (p, v) => {
        const size = p.block_size, start = Math.floor(v / (size - 1)) * size, row = (v % (size - 1)) + 1;
        const fits = coin(p.fits), elsewhere = fits ? -1 : below(p.blocks * size - size / 2) - size / 2;
        if (elsewhere >= 0) return elsewhere < start ? elsewhere : elsewhere + size;
        const column = below(size);
        return start + (odd(column & row) === fits ? column ^ (row & -row) : column);
      },
      ...fits(({ k, blocks, block_size: size }) =>
        (size & (size - 1)) === 0 && k <= blocks * (size - 1) ? [size / 2, blocks * size - size / 2] : [0, 0]),
    },
    local_hashing: {
      whole: ["k", "g", "prime"],
      draw: (p, v) => {
        const a = 1 + below(p.prime - 1), b = below(p.prime);
        const hashed = Math.floor((((a * v + b) % p.prime) * p.g) / p.prime);
        return [a, b, respond(hashed, p.g, p.fits)];
      },
      ...fits((p) => [1, p.g - 1]),
    },
    subset_selection: {
      whole: ["k", "d"],
      draw: (p, v) => {
        const chosen = new Array(p.k).fill(false);
        chosen[v] = coin(p.fits);
        let missing = p.d - (chosen[v] ? 1 : 0), left = p.k - 1;
        for (let n = 0; n < p.k && missing > 0; n++) {
          if (n === v) continue;
          if ((chosen[n] = below(left) < missing)) missing--;
          left--;
        }
        return hexadecimal(chosen);
      },
      ...fits((p) => [p.d, p.k - p.d]),
    },
    one_bit_mean: { whole: [], draw: (p, v) => bit(v, p.fits), ...fits(() => [1, 1]) },
    piecewise_mean: { whole: ["window", "steps"], draw: piecewise, ...fits((p) => [p.window, p.steps]) },
    hybrid_mean: {
      whole: ["window", "steps"],
      draw: (p, v) => (coin(p.piecewise) ? piecewise(p, v) : p.window + p.steps + bit(v, p.bit)),
      coins: ["piecewise", "fits", "bit"],
      tells: (p) => [tells(p.fits, p.window, p.steps), tells(p.bit, 1, 1)],
    },
    laplace_mean: {
      whole: ["steps", "margin"],
      draw: laplace,
      coins: ["on"],
      // A coin that hardly ever shows tails would go on for ever.
      tells: (p) => [odds(p.on) > 0 && odds(p.on) < 2 ** 20 ? p.steps * Math.log1p(1 / odds(p.on)) : NaN],
    },
  };
  // The largest ratio of chances, from the numbers that reports are drawn with, must be what the message says. Text is
  // no number, even if it reads like one: "1" + 1 is "11".
  const keeps = (p) => {
    const { whole, coins, tells } = kinds[p.kind];
    if (!whole.every((name) => Number.isInteger(p[name]) && p[name] >= 0 && p[name] <= MOST)) return false;
    if (!coins.every((name) => typeof p[name] === "string")) return false;
    return tells(p).every((told) => Math.abs(told) <= Number(p.epsilon) + 1e-9);
  };
  const place = (p, value) => {
    if (!kinds[p.kind].whole.includes("k")) {
      const low = Number(p.lowest), high = Number(p.highest), wide = high - low;
      if (!(wide > 0 && wide < Infinity)) throw new RangeError("these parameters have no bounds");
      if (typeof value !== "number" || !Number.isFinite(value)) throw new RangeError("value must be a finite number");
      return Math.floor(((Math.min(Math.max(value, low), high) - low) / (high - low)) * GRID);
    }
    const answer = p.categories ? p.categories.indexOf(value) : value;
    if (!Number.isInteger(answer) || answer < 0 || answer >= p.k) throw new RangeError("value is not an answer");
    return answer;
  };
  // parameters: the public message, parsed; value: a category, a whole number from 0 to k - 1, or a number.
  const report = (parameters, value) => {
    const p = parameters;
    if (p.format !== "dalenius local parameters" || p.version !== 1 || !Object.hasOwn(kinds, p.kind))
      throw new RangeError("these parameters are of another version: a newer client is needed");
    if (!keeps(p)) throw new RangeError("these parameters do not keep the epsilon they state");
    return { format: "dalenius local report", version: 1, survey: p.survey, report: kinds[p.kind].draw(p, place(p, value)) };
  };
  return { report };
})();
