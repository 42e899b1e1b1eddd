// Details, search, pointer and keys.

const front = byId('front'), tip = byId('tip'), search = byId('search');

// at returns the rectangle at a point of the screen: the smallest that holds it, or
// the nearest within three pixels; -1 for none.
function at(x, y) {
  let best = -1, bestRank = Infinity;
  if (x < panel.x || x > panel.x + panel.w || y < panel.y || y > panel.y + panel.h) return best;
  for (let i = 0; i < count; i++) {
    if (!inView(i)) continue;
    const e = exact(i);
    const apart = Math.max(e.x - x, x - e.x - e.w, e.y - y, y - e.y - e.h, 0);
    if (apart > 3) continue;
    const rank = apart * 1e12 + e.w * e.h;
    if (rank < bestRank) [best, bestRank] = [i, rank];
  }
  return best;
}

function liveAt(step) {
  const { steps, bytes } = data.live;
  let low = 0, high = steps.length;
  while (low + 1 < high) {
    const middle = (low + high) >> 1;
    if (steps[middle] <= step) low = middle; else high = middle;
  }
  return bytes[low];
}

function rows(title, remark, pairs) {
  const heading = document.createElement('h2');
  const note = document.createElement('span');
  note.textContent = remark;
  heading.append(title, ' ', note);
  const table = document.createElement('table');
  for (const [name, value] of pairs) {
    const row = table.insertRow();
    const head = document.createElement('th');
    head.scope = 'row';
    head.textContent = name;
    row.append(head);
    row.insertCell().textContent = value;
  }
  tip.replaceChildren(heading, table);
}

// showTip puts the details beside a point, on the side where there is room.
function showTip(x, y) {
  tip.hidden = false;
  const w = tip.offsetWidth, h = tip.offsetHeight;
  tip.style.left = `${x + 16 + w <= screen.w ? x + 16 : Math.max(x - 16 - w, 0)}px`;
  tip.style.top = `${clamp(y + 12 + h <= screen.h ? y + 12 : y - 12 - h, 0, Math.max(screen.h - h, 0))}px`;
}

function hover(x, y) {
  const i = at(x, y), step = Math.floor(stepAt(x));
  const outside = x < panel.x || x >= panel.x + panel.w || y < panel.y || y > lower.y + lower.h;
  state.hover = i;
  state.cross = outside ? null : clamp(stepAt(x), view.x0, view.x1);
  drawMarks();
  if (state.pinned >= 0) return;
  tip.className = '';
  if (i >= 0) terms.describe(i);
  else if (!outside) {
    const place = y <= panel.y + panel.h ? terms.place(addressAt(y)) : [];
    rows(terms.moment(step), '', [['Live', `${size(liveAt(step))} (${commas(liveAt(step))} bytes)`], ...place]);
  }
  if (i < 0 && outside) tip.hidden = true;
  else showTip(x, y);
}

function pin(i) {
  state.pinned = i;
  tip.className = i < 0 ? '' : 'pinned';
  tip.hidden = true;
  if (i >= 0) {
    reveal(i);
    terms.describe(i);
    const b = visible(box(i));
    showTip(clamp(b.x + b.w, 0, screen.w), clamp(b.y, 0, screen.h));
  }
  drawMarks();
}

// reveal moves the view, as little as it can, until the rectangle is in it.
function reveal(i) {
  const shift = (low, high, first, last) => first < low ? first - low : last > high ? Math.min(last - high, first - low) : 0;
  const dx = shift(view.x0, view.x1, data.first[i], data.stop[i]);
  const dy = shift(view.y0, view.y1, data.offset[i], data.offset[i] + data.bytes[i]);
  if (!dx && !dy) return;
  show(view.x0 + dx, view.x1 + dx, view.y0 + dy, view.y1 + dy);
  draw();
}

// Keys go through the rectangles by time, and up and down through those alive at once.
const byTime = Array.from({ length: count }, (_, i) => i)
  .sort((a, b) => data.first[a] - data.first[b] || data.offset[a] - data.offset[b]);

function neighbour(key) {
  const from = state.pinned;
  if (!count) return -1;
  if (from < 0) return byTime[0];
  if (key === 'ArrowRight' || key === 'ArrowLeft') {
    return byTime[clamp(byTime.indexOf(from) + (key === 'ArrowRight' ? 1 : -1), 0, count - 1)];
  }
  const sign = key === 'ArrowUp' ? 1 : -1;
  let best = from;
  for (let i = 0; i < count; i++) {
    const together = data.first[i] < data.stop[from] && data.first[from] < data.stop[i];
    const ahead = (data.offset[i] - data.offset[from]) * sign;
    if (together && ahead > 0 && (best === from || ahead < (data.offset[best] - data.offset[from]) * sign)) best = i;
  }
  return best;
}

function find(text) {
  const wanted = text.trim().toLowerCase();
  state.found = null;
  byId('found').textContent = '';
  if (wanted) {
    state.found = new Set();
    data.names.forEach((name, g) => { if (name.toLowerCase().includes(wanted)) state.found.add(g); });
    byId('found').textContent = `${commas(state.found.size)} of ${commas(data.names.length)}`;
  }
  draw();
}

// nextFound pins the next rectangle in time that the search found.
function nextFound() {
  if (!state.found || !state.found.size) return;
  const start = state.pinned < 0 ? -1 : byTime.indexOf(state.pinned);
  for (let n = 1; n <= count; n++) {
    const i = byTime[(start + n) % count];
    if (state.found.has(data.group[i])) return pin(i);
  }
}

let waiting = false;
function redraw() {
  if (waiting) return;
  waiting = true;
  requestAnimationFrame(() => { waiting = false; draw(); if (state.pinned >= 0) repin(); });
}

function repin() {
  const b = visible(box(state.pinned));
  if (b.w < 0 || b.h < 0) tip.hidden = true;
  else showTip(b.x + b.w, b.y);
}

function zoomHere(factor) {
  zoom(factor, panel.x + panel.w / 2, panel.y + panel.h / 2, false);
  redraw();
}

function showWhole() {
  show(whole.x0, whole.x1, whole.y0, whole.y1);
  redraw();
}

function pan(dx, dy) {
  const sx = dx / panel.w * (view.x1 - view.x0), sy = dy / panel.h * (view.y1 - view.y0);
  show(view.x0 + sx, view.x1 + sx, view.y0 + sy, view.y1 + sy);
  redraw();
}

function place(event) {
  const r = front.getBoundingClientRect();
  return [event.clientX - r.left, event.clientY - r.top];
}

let drag = null;
front.addEventListener('wheel', (event) => {
  event.preventDefault();
  const turn = event.deltaY || event.deltaX;
  zoom(Math.exp(clamp(turn, -120, 120) * 0.0022), ...place(event), event.shiftKey);
  redraw();
}, { passive: false });
front.addEventListener('pointerdown', (event) => {
  drag = { x: event.clientX, y: event.clientY, moved: false };
  front.setPointerCapture(event.pointerId);
});
front.addEventListener('pointermove', (event) => {
  if (!drag) return hover(...place(event));
  const dx = drag.x - event.clientX, dy = event.clientY - drag.y;
  if (!drag.moved && Math.hypot(dx, dy) < 4) return;
  front.classList.add('moving');
  drag = { x: event.clientX, y: event.clientY, moved: true };
  pan(dx, dy);
});
front.addEventListener('pointerup', (event) => {
  if (drag && !drag.moved) { pin(at(...place(event))); }
  drag = null;
  front.classList.remove('moving');
});
front.addEventListener('pointercancel', () => { drag = null; front.classList.remove('moving'); });
front.addEventListener('pointerleave', () => {
  state.hover = -1;
  state.cross = null;
  drawMarks();
  if (state.pinned < 0) tip.hidden = true;
});
front.addEventListener('dblclick', (event) => { zoom(0.5, ...place(event), event.shiftKey); redraw(); });
front.addEventListener('keydown', (event) => {
  const moves = { ArrowLeft: [-60, 0], ArrowRight: [60, 0], ArrowUp: [0, 60], ArrowDown: [0, -60] };
  if (!(event.key in moves) || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  if (event.shiftKey) pan(...moves[event.key]);
  else pin(neighbour(event.key));
});
document.addEventListener('keydown', (event) => {
  if (event.key === 'Escape') { pin(-1); return; }
  if (event.target === search || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === '+' || event.key === '=') zoomHere(1 / 1.5);
  else if (event.key === '-') zoomHere(1.5);
  else if (event.key === '0') showWhole();
  else if (event.key === '/') { event.preventDefault(); search.focus(); }
});
search.addEventListener('input', () => find(search.value));
search.addEventListener('keydown', (event) => { if (event.key === 'Enter') nextFound(); });
byId('in').addEventListener('click', () => zoomHere(1 / 1.5));
byId('out').addEventListener('click', () => zoomHere(1.5));
byId('whole').addEventListener('click', showWhole);

function resize() {
  const r = byId('stage').getBoundingClientRect();
  if (!r.width || !r.height) return;
  document.documentElement.style.setProperty('--shape', `${r.width} / ${r.height}`);
  arrange(r.width, r.height);
  draw();
  if (state.pinned >= 0) repin();
}

// Paper is light, and a canvas for it has more dots.
function forPaper(paper) {
  document.documentElement.classList.toggle('paper', paper);
  if (count <= mostElements) return;
  const seen = [];
  for (let i = 0; i < count; i++) if (inView(i)) seen.push(i);
  drawCanvas(seen, paper ? 3 : undefined);
}
let printing = false;
window.addEventListener('beforeprint', () => { printing = true; forPaper(true); });
window.addEventListener('afterprint', () => { printing = false; forPaper(false); resize(); });
new ResizeObserver(() => { if (!printing) resize(); }).observe(byId('stage'));
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => draw());

// The part of an address after # sets what is shown: find=NAME, steps=FROM-TO,
// bytes=FROM-TO, and pin, which pins the first buffer found.
function fromAddress() {
  const wish = new URLSearchParams(location.hash.slice(1));
  const range = (name, low, high) => {
    const m = /^(\d+)-(\d+)$/.exec(wish.get(name) || '');
    return m && +m[1] < +m[2] ? [+m[1], +m[2]] : [low, high];
  };
  show(...range('steps', whole.x0, whole.x1), ...range('bytes', whole.y0, whole.y1));
  search.value = wish.get('find') || '';
  resize();
  find(search.value);
  if (wish.has('pin')) nextFound();
  if (wish.has('check')) check();
}
window.addEventListener('hashchange', fromAddress);
