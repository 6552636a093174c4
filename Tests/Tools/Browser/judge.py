"""The requirements of any page, as a script that runs in the page and returns the problems as text."""

JUDGE = r"""
(() => {
  const findings = [], root = document.documentElement;
  if (root.scrollWidth > innerWidth) findings.push(`${root.scrollWidth} px wide in a window of ${innerWidth} px`);
  // The parts of mixed colors are fractions of 1.
  const numbers = (text) => (text.match(/[\d.]+/g) || []).map(
    (part, place) => Number(part) * (text.startsWith("color(") && place < 3 ? 255 : 1));
  const light = (color) => { const [r, g, b] = color.map((part) => { part /= 255;
    return part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4; });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const ground = (element) => { for (let at = element; at; at = at.parentElement) {
    const color = numbers(getComputedStyle(at).backgroundColor);
    if (color.length === 3 || color[3] > 0.99) return color.slice(0, 3); }
    return matchMedia("(prefers-color-scheme: dark)").matches ? [18, 18, 18] : [255, 255, 255]; };
  const pale = new Map();
  for (const element of document.querySelectorAll("body *")) {
    const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
    if (!own || !element.getClientRects().length || element.closest("svg")) continue;
    const ink = light(numbers(getComputedStyle(element).color).slice(0, 3)), paper = light(ground(element));
    const ratio = (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05);
    if (ratio < 4.5) pale.set(`${element.tagName}.${element.className}`, ratio.toFixed(2));
  }
  for (const [name, ratio] of pale) findings.push(`${name} has a contrast of ${ratio}; must be at least 4.5`);
  for (const field of document.querySelectorAll("input, select"))
    if (!field.labels.length) findings.push(`the field ${field.name} has no label`);
  for (const drawing of document.querySelectorAll("svg"))
    if (!drawing.getAttribute("aria-label")) { findings.push("a drawing has no name (aria-label)"); break; }
  for (const table of document.querySelectorAll("table"))
    if (!table.querySelector("thead th")) { findings.push("a table has no headings"); break; }
  for (const cell of document.querySelectorAll("td, th")) {
    if (!/^\S{1,9}$/.test(cell.innerText.trim())) continue;
    const range = document.createRange(); range.selectNodeContents(cell);
    const tops = [...range.getClientRects()].map((rect) => rect.top);
    if (Math.max(...tops) - Math.min(...tops) > 10) { findings.push(`${cell.innerText.trim()} is wrapped`); break; } }
  for (const link of document.querySelectorAll("a, button, input"))
    if (link.tabIndex < 0) { findings.push(`${link.outerHTML} cannot be reached with the keyboard`); break; }
  if (root.lang !== "en") findings.push("the language of the page is not set to en");
  if (document.querySelectorAll("h1").length !== 1) findings.push("the page must have exactly one heading h1");
  return findings;
})()
"""
