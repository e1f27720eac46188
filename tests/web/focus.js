// Keep what the keyboard reaches: a listener for every element that gets the focus, and what must be reached in the end.
() => {
  document.body.tabIndex = -1;  // begin at the top, whatever had the focus
  document.body.focus();
  document.body.removeAttribute("tabindex");
  const reached = (window.reached = new Map());
  document.addEventListener("focusin", (event) => {
    const style = getComputedStyle(event.target);
    const ring = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2;
    reached.set(event.target, ring && event.target.matches(":focus-visible"));
  });
  window.unreached = () => {
    const called = (node) => `<${node.tagName.toLowerCase()} ${node.id || node.name || node.getAttribute("aria-label") || node.textContent.trim().slice(0, 40)}>`;
    const shown = (node) => node.checkVisibility({ visibilityProperty: true });
    const picked = (node) => node.type === "radio" && [...document.getElementsByName(node.name)].some((other) => reached.has(other));
    const must = [...document.querySelectorAll("a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex='0']")];
    const wrong = must.filter((node) => shown(node) && !node.disabled && node.tabIndex >= 0 && !reached.has(node) && !picked(node)).map((node) => `${called(node)} is not reached`);
    for (const [node, ring] of reached) if (!ring) wrong.push(`the focus on ${called(node)} is not seen`);
    for (const node of document.querySelectorAll(".scroll, pre"))
      if (shown(node) && node.scrollWidth > node.clientWidth + 1 && node.tabIndex < 0) wrong.push(`${called(node)} scrolls, and not by the keyboard`);
    return wrong;
  };
  return document.querySelectorAll("a[href], button, input, select, textarea, summary, [tabindex='0']").length;
}
