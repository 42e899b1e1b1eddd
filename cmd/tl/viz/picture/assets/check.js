// The page's check of itself, for #check at the end of its address: what stands on
// the page is measured, and the result written to attributes of the root element.

function check() {
  const root = document.documentElement, texts = [];
  for (const element of document.querySelectorAll('svg text, h1, header p, dt, dd, .legend li, #found, input, button, .hint, .below h2, .below th, .below td')) {
    const r = element.getBoundingClientRect();
    if (r.width > 0 && r.height > 0 && element.textContent + element.tagName !== '') texts.push({ element, r });
  }
  let overlaps = 0, clipped = 0;
  const examples = [];
  texts.forEach(({ element, r }, n) => {
    if ((element.tagName === 'TD' || element.tagName === 'TH') && element.scrollWidth > element.clientWidth + 1) {
      clipped++;
      examples.push(`too wide: ${element.textContent}`);
    }
    const stage = element.closest('#stage svg') && byId('stage').getBoundingClientRect();
    const inside = stage || { left: 0, top: 0, right: innerWidth, bottom: innerHeight };
    if (r.left < inside.left - 0.5 || r.top < inside.top - 0.5 || r.right > inside.right + 0.5 || r.bottom > inside.bottom + 0.5 ||
        r.right > innerWidth + 0.5 || r.bottom > innerHeight + 0.5) {
      clipped++;
      examples.push(`clipped: ${element.textContent}`);
    }
    for (const other of texts.slice(n + 1)) {
      const w = Math.min(r.right, other.r.right) - Math.max(r.left, other.r.left);
      const h = Math.min(r.bottom, other.r.bottom) - Math.max(r.top, other.r.top);
      // Buttons share a border; boxes of lines of text include leading, which may touch.
      if (w <= 1.5 || h <= 2.5 || element.contains(other.element)) continue;
      overlaps++;
      examples.push(`overlap: ${element.textContent} / ${other.element.textContent}`);
    }
  });
  Object.assign(root.dataset, {
    checked: texts.length, overlaps, clipped, examples: examples.slice(0, 5).join('; '), window: `${innerWidth} ${innerHeight}`,
  });
  if (!byId('stage')) return; // a page without a picture
  Object.assign(root.dataset, {
    names: document.querySelectorAll('#names text').length, rectangles: document.querySelectorAll('.buffer').length,
    misjudged: Math.ceil(misjudged()),
    labels: Array.from(document.querySelectorAll('#axes text'), (text) => text.textContent).join('|'),
    panel: panelOnPage(), view: `${view.x0} ${view.x1} ${view.y0} ${view.y1}`,
  });
}

// misjudged is by how many pixels a label is longer or shorter than it was taken for.
function misjudged() {
  const labels = Array.from(document.querySelectorAll('#axes text, #names text'));
  return Math.max(0, ...labels.map((element) => Math.abs(element.getComputedTextLength() - textWidth(element.textContent))));
}

function panelOnPage() {
  const r = byId('stage').getBoundingClientRect();
  return `${r.left + panel.x} ${r.top + panel.y} ${panel.w} ${panel.h}`;
}

fromAddress();
