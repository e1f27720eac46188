// What keeps a person from using the page that is shown: a list of sentences, empty where nothing does. Colours and
// widths are those of the window as it is now. alone: a page without the bar at the top, to be saved and sent.
({ alone }) => {
  const wrong = [];
  const all = (selector, inside = document) => [...inside.querySelectorAll(selector)];
  const called = (node) => {
    const text = (node.textContent || "").trim().replace(/\s+/g, " ").slice(0, 40);
    return `<${node.tagName.toLowerCase()}${node.id ? " #" + node.id : ""}${node.getAttribute("name") ? " name=" + node.getAttribute("name") : ""}> ${text}`;
  };
  const shown = (node) => node.checkVisibility({ visibilityProperty: true, opacityProperty: true });

  // -- the page as a whole
  if (!document.documentElement.lang) wrong.push("the page has no language");
  if (!document.title.trim()) wrong.push("the page has no title");
  for (const mark of ["h1", "main"])
    if (all(mark).filter(shown).length !== 1) wrong.push(`${all(mark).length} of ${mark}, not one`);
  if (!alone) {
    const skip = document.querySelector("a[href], button");
    const to = skip && skip.hash && document.getElementById(skip.hash.slice(1));
    if (!to || to.tagName !== "MAIN") wrong.push("the first link does not skip to the content");
  }
  let level = 0;
  for (const heading of all("h1, h2, h3, h4, h5, h6").filter(shown)) {
    const now = Number(heading.tagName[1]);
    if (now > level + 1) wrong.push(`${called(heading)} comes after a heading of level ${level}`);
    level = now;
  }
  const ids = all("[id]").map((node) => node.id);
  for (const id of new Set(ids.filter((id, place) => ids.indexOf(id) !== place))) wrong.push(`two elements are called ${id}`);
  for (const word of ["aria-labelledby", "aria-describedby", "aria-controls", "for"])
    for (const node of all(`[${word}]`))
      for (const id of node.getAttribute(word).split(/\s+/))
        if (!document.getElementById(id)) wrong.push(`${called(node)}: ${word} names ${id}, which is not there`);
  const wide = document.documentElement.scrollWidth;
  if (wide > window.innerWidth) {
    const over = all("body *").filter((node) => shown(node) && node.getBoundingClientRect().right > window.innerWidth + 1 && !node.closest(".scroll"));
    wrong.push(`the page is ${wide} wide in a window of ${window.innerWidth}: ${over.slice(0, 3).map(called).join("; ")}`);
  }

  // -- names
  const named = (node) => {
    const by = (node.getAttribute("aria-labelledby") || "").split(/\s+/).map((id) => document.getElementById(id)?.textContent || "").join(" ");
    const labels = [...(node.labels || [])].map((label) => label.textContent).join(" ");
    const own = ["INPUT", "SELECT", "TEXTAREA"].includes(node.tagName) ? "" : node.textContent;
    return (node.getAttribute("aria-label") || by.trim() || labels || own || "").trim();
  };
  const controls = "input:not([type=hidden]), select, textarea, button, a[href], summary, progress, meter, svg[role=img], [role=region], nav, table, [tabindex='0']";
  for (const node of all(controls).filter(shown))
    if (!(node.tagName === "TABLE" ? node.caption || node.closest("[aria-label], [aria-labelledby]") : named(node)))
      wrong.push(`${called(node)} has no name`);
  for (const node of all("fieldset").filter(shown)) if (!node.querySelector("legend")) wrong.push(`${called(node)} has no legend`);
  for (const node of all("img")) if (!node.hasAttribute("alt")) wrong.push(`${called(node)} has no words`);
  for (const node of all("th").filter(shown)) if (!node.scope) wrong.push(`${called(node)} does not say what it heads`);
  for (const node of all("[aria-invalid=true]").filter(shown))
    if (!node.getAttribute("aria-describedby") && !node.closest("fieldset, form").querySelector("[role=alert], .wrong")) wrong.push(`${called(node)} does not say what is wrong`);
  for (const node of all("[tabindex]")) if (node.tabIndex > 0) wrong.push(`${called(node)} has a place of its own in the order`);

  // -- colours
  const paint = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const known = new Map();
  const rgba = (colour) => {
    if (!known.has(colour)) {
      const parts = /^rgba?\(([\d.]+), ([\d.]+), ([\d.]+)(?:, ([\d.]+))?\)$/.exec(colour);
      if (parts) known.set(colour, [Number(parts[1]), Number(parts[2]), Number(parts[3]), parts[4] === undefined ? 1 : Number(parts[4])]);
      else {
        paint.clearRect(0, 0, 1, 1); paint.fillStyle = colour; paint.fillRect(0, 0, 1, 1);
        const [r, g, b, a] = paint.getImageData(0, 0, 1, 1).data;
        known.set(colour, [r, g, b, a / 255]);
      }
    }
    return known.get(colour);
  };
  const over = (top, below) => {
    const a = top[3] + below[3] * (1 - top[3]);
    if (!a) return [0, 0, 0, 0];
    return [0, 1, 2].map((i) => (top[i] * top[3] + below[i] * below[3] * (1 - top[3])) / a).concat(a);
  };
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  const behinds = new Map();
  const behind = (node) => {  // what a text on this element is painted on
    if (!node) return dark ? [18, 18, 18, 1] : [255, 255, 255, 1];
    if (!behinds.has(node)) behinds.set(node, over(rgba(getComputedStyle(node).backgroundColor), behind(node.parentElement)));
    return behinds.get(node);
  };
  const light = (c) => {
    const [r, g, b] = c.map((v) => (v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast = (one, two) => {
    const [a, b] = [light(one), light(two)].sort((x, y) => y - x);
    return (a + 0.05) / (b + 0.05);
  };
  const clear = (node) => {
    let most = 1;
    for (let at = node; at; at = at.parentElement) most *= Number(getComputedStyle(at).opacity);
    return most;
  };
  const told = new Set();
  const compare = (node, colour, least, what) => {
    const ground = behind(node), text = rgba(colour).slice();
    text[3] *= clear(node);
    const found = contrast(over(text, ground), ground);
    if (found < least && !told.has(what + colour + ground)) {
      told.add(what + colour + ground);
      wrong.push(`${what} of ${called(node)} has a contrast of ${found.toFixed(2)}, not ${least} (${colour} on ${ground.slice(0, 3).map(Math.round)})`);
    }
  };
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const node = walk.currentNode.parentElement;
    if (!walk.currentNode.data.trim() || node.closest("script, style, title, noscript, :disabled, datalist, .hidden, option") || !shown(node)) continue;
    const style = getComputedStyle(node);
    compare(node, node instanceof SVGElement ? style.fill : style.color, 4.5, "the text");
  }
  for (const node of all("input:not([type=hidden], [type=checkbox], [type=radio], [type=range]), select, textarea").filter(shown)) {
    compare(node, getComputedStyle(node).color, 4.5, "what is typed");
    if (node.placeholder) compare(node, getComputedStyle(node, "::placeholder").color, 4.5, "the hint");
    compare(node.parentElement, getComputedStyle(node).borderTopColor, 3, "the edge");
  }
  return wrong;
}
