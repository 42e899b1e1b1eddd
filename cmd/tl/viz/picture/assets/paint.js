// Drawing: rectangles, axes, curve, and labels that never overlap.

const make = (name, attributes, text) => {
  const element = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const key in attributes) element.setAttribute(key, attributes[key]);
  if (text !== undefined) element.textContent = text;
  return element;
};

// Above this number, rectangles are pixels of a canvas instead of elements.
const mostElements = 5000;
const style = (i) => terms.style(i);

// found holds the groups that the search found, or null without a search.
const state = { found: null, hover: -1, pinned: -1, cross: null };
const faint = (i) => state.found !== null && !state.found.has(data.group[i]);

const pen = document.createElement('canvas').getContext('2d');
const widths = new Map();

// labelFont is the font that labels are drawn in: what the page's list of families comes
// to differs from machine to machine.
function labelFont() {
  const probe = make('text', {});
  byId('back').append(probe);
  const { fontWeight, fontSize, fontFamily } = getComputedStyle(probe), font = `${fontWeight} ${fontSize} ${fontFamily}`;
  probe.remove();
  return font;
}

function textWidth(text) {
  if (!widths.has(text)) {
    if (!widths.size) pen.font = labelFont();
    widths.set(text, pen.measureText(text).width);
  }
  return widths.get(text);
}

// Labels are placed in the order of their importance; one that would touch another
// or leave the picture is left out.
let placed = [];
function label(parent, text, x, y, options = {}) {
  const w = textWidth(text), h = 12;
  const left = options.anchor === 'end' ? x - w : options.anchor === 'start' ? x : x - w / 2;
  const area = options.upright ? { x: x - h / 2, y: y - w / 2, w: h, h: w } : { x: left, y: y - h / 2, w, h };
  if (area.x < 0 || area.y < 0 || area.x + area.w > screen.w || area.y + area.h > screen.h) return false;
  const touches = (p) => area.x < p.x + p.w + 3 && p.x < area.x + area.w + 3 && area.y < p.y + p.h && p.y < area.y + area.h;
  if (placed.some(touches)) return false;
  placed.push(area);
  const attributes = { class: options.style || '', 'text-anchor': options.anchor || 'middle' };
  if (options.upright) attributes.transform = `translate(${x + 4},${y}) rotate(-90)`;
  else Object.assign(attributes, { x, y: y + 4 });
  parent.append(make('text', attributes, text));
  return true;
}

function draw() {
  const front = byId('front'), back = byId('back');
  placed = [];
  for (const svg of [front, back]) svg.setAttribute('viewBox', `0 0 ${screen.w} ${screen.h}`);
  const clip = make('clipPath', { id: 'inside' });
  clip.append(make('rect', { x: panel.x, y: panel.y, width: panel.w, height: panel.h }));
  const clipLower = make('clipPath', { id: 'insideLower' });
  clipLower.append(make('rect', { x: lower.x, y: lower.y - 1, width: lower.w, height: lower.h + 2 }));
  const groups = Object.fromEntries(['axes', 'rects', 'curve', 'names', 'marks'].map((id) => [id, make('g', { id })]));
  groups.rects.setAttribute('clip-path', 'url(#inside)');
  groups.marks.setAttribute('clip-path', 'url(#inside)');
  groups.curve.setAttribute('clip-path', 'url(#insideLower)');
  const grid = make('g', {});
  terms.behind(grid);
  drawAxes(groups.axes, grid);
  drawCurve(groups.curve, groups.axes);
  const seen = [];
  for (let i = 0; i < count; i++) if (inView(i)) seen.push(i);
  drawCanvas(count > mostElements ? seen : []);
  if (count <= mostElements) drawElements(groups.rects, seen);
  drawNames(groups.names, seen);
  back.replaceChildren(grid);
  front.replaceChildren(clip, clipLower, groups.rects, groups.curve, groups.axes, groups.names, groups.marks);
  drawMarks();
}

function drawElements(parent, seen) {
  for (const i of seen) {
    const e = exact(i), b = e.w < 1 || e.h < 1 ? e : box(i);
    parent.append(make('rect', {
      x: b.x, y: b.y, width: Math.max(b.w, 0.3), height: Math.max(b.h, 0.3),
      class: `buffer ${style(i)}${state.found === null ? '' : faint(i) ? ' faint' : ' found'}`,
    }));
    const texture = terms.texture(i);
    if (texture && hasRoom(b) && !faint(i)) {
      parent.append(make('rect', { x: b.x + 2, y: b.y + 2, width: b.w - 4, height: b.h - 4, class: `texture x${texture}` }));
    }
  }
}

// hasRoom tells whether a rectangle is large enough for a texture, inside an edge of its
// own colour.
const hasRoom = (b) => b.w >= 8 && b.h >= 8;

// weave is a texture for the canvas, of the path that the page's pattern has.
const weaves = new Map();
function weave(ink, texture) {
  if (!weaves.has(texture)) {
    const path = document.querySelector(`#x${texture} path`), look = getComputedStyle(path), tile = document.createElement('canvas');
    tile.width = tile.height = 8;
    const pen = tile.getContext('2d');
    Object.assign(pen, { strokeStyle: look.stroke, globalAlpha: look.strokeOpacity, lineWidth: parseFloat(look.strokeWidth), lineCap: 'round' });
    pen.stroke(new Path2D(path.getAttribute('d')));
    weaves.set(texture, ink.createPattern(tile, 'repeat'));
  }
  return weaves.get(texture);
}

// drawCanvas fills rectangles of at least a pixel; smaller ones add up to how much
// of each pixel they cover, so that a crowd of them shows as what it is.
function drawCanvas(seen, ratio = window.devicePixelRatio || 1) {
  const canvas = byId('many');
  canvas.width = seen.length ? Math.round(screen.w * ratio) : 0;
  canvas.height = seen.length ? Math.round(screen.h * ratio) : 0;
  weaves.clear(); // the theme may be another
  if (!seen.length) return;
  const ink = canvas.getContext('2d'), colours = new Map(), large = [];
  const dust = new Dust(Math.round(panel.w * ratio), Math.round(panel.h * ratio));
  for (const i of seen) {
    const key = style(i), e = exact(i);
    if (!colours.has(key)) colours.set(key, colourOf(key));
    if (e.w >= 1 && e.h >= 1) large.push(i);
    else dust.add((e.x - panel.x) * ratio, (e.y - panel.y) * ratio, e.w * ratio, e.h * ratio, colours.get(key), faint(i) ? 0.18 : 1);
  }
  ink.putImageData(dust.image(ink), Math.round(panel.x * ratio), Math.round(panel.y * ratio));
  ink.scale(ratio, ratio);
  ink.beginPath();
  ink.rect(panel.x, panel.y, panel.w, panel.h);
  ink.clip();
  for (const i of large) {
    const b = box(i), colour = colours.get(style(i));
    ink.fillStyle = `rgb(${colour.join()})`;
    ink.globalAlpha = faint(i) ? 0.18 : 1;
    ink.fillRect(b.x, b.y, b.w, b.h);
    const texture = terms.texture(i);
    if (!texture || !hasRoom(b) || faint(i)) continue;
    ink.fillStyle = weave(ink, texture);
    ink.fillRect(b.x + 2, b.y + 2, b.w - 4, b.h - 4);
  }
}

// Dust is what small rectangles leave on each pixel: red, green and blue, each times
// the covered part, and the covered part.
class Dust {
  constructor(w, h) {
    this.w = w;
    this.h = h;
    this.sums = new Float32Array(4 * w * h);
  }

  add(x, y, w, h, colour, strength) {
    const right = Math.min(x + w, this.w), bottom = Math.min(y + h, this.h);
    for (let row = Math.max(Math.floor(y), 0); row < bottom; row++) {
      const part = (Math.min(row + 1, bottom) - Math.max(row, y)) * strength;
      for (let column = Math.max(Math.floor(x), 0); column < right; column++) {
        const cover = part * (Math.min(column + 1, right) - Math.max(column, x));
        const to = 4 * (row * this.w + column);
        for (let c = 0; c < 3; c++) this.sums[to + c] += colour[c] * cover;
        this.sums[to + 3] += cover;
      }
    }
  }

  image(ink) {
    const image = ink.createImageData(this.w, this.h);
    for (let p = 0; p < this.sums.length; p += 4) {
      const cover = this.sums[p + 3];
      if (!cover) continue;
      for (let c = 0; c < 3; c++) image.data[p + c] = this.sums[p + c] / cover;
      image.data[p + 3] = Math.min(cover, 1) * 255;
    }
    return image;
  }
}

// colourOf returns red, green and blue of a style, 0 to 255.
function colourOf(classes) {
  const probe = make('rect', { class: `buffer ${classes}` });
  byId('back').append(probe);
  const colour = getComputedStyle(probe).fill.match(/\d+/g).slice(0, 3).map(Number);
  probe.remove();
  return colour;
}

function drawAxes(axes, grid) {
  const right = panel.x + panel.w, bottom = panel.y + panel.h, floor = lower.y + lower.h;
  label(axes, 'Address', panel.x - 8, panel.y - 14, { anchor: 'end', style: 'strong' });
  label(axes, 'Live bytes', panel.x - 8, lower.y - 15, { anchor: 'end', style: 'strong' });
  label(axes, terms.horizontal, right + 8, floor + 14, { anchor: 'start', style: 'strong' });
  const line = (parent, x1, y1, x2, y2, name) => parent.append(make('line', { x1, y1, x2, y2, class: name }));
  for (const t of terms.vertical(view.y0, view.y1, panel.h / 34)) {
    const y = Math.round(Y(t.value)) + 0.5;
    if (terms.lines) line(grid, panel.x, y, right, y, 'grid');
    label(axes, t.text, panel.x - 8, y, { anchor: 'end' });
  }
  for (const t of byteTicks(0, highest, Math.max(lower.h / 30, 2))) {
    const y = Math.round(L(t.value)) + 0.5;
    line(grid, lower.x, y, right, y, 'grid');
    label(axes, t.text, lower.x - 8, y, { anchor: 'end' });
  }
  // A line leads to its step, or parts it from the one before where each has a line.
  const ticks = terms.ticks(view.x0, view.x1, panel.w / 46);
  const lead = ticks.length > 1 && ticks[1].value - ticks[0].value > 1 ? terms.middle : 0;
  for (const t of ticks) {
    const x = Math.round(X(t.value + lead)) + 0.5, middle = X(t.value + terms.middle);
    const named = middle >= panel.x && middle <= right && label(axes, t.text, middle, floor + 14);
    if (named && x >= panel.x) for (const p of [panel, lower]) line(grid, x, p.y, x, p.y + p.h, 'grid');
  }
  line(axes, panel.x, bottom + 0.5, right, bottom + 0.5, 'axis');
  line(axes, lower.x, floor + 0.5, right, floor + 0.5, 'axis');
  terms.over(axes);
}

// beside names a line at its right end, or above the end where there is no room.
function beside(axes, text, y, style) {
  const right = panel.x + panel.w;
  return label(axes, text, right + 8, y, { anchor: 'start', style }) || label(axes, text, right - 4, y - 8, { anchor: 'end', style: `${style} over` });
}

// outline is the live bytes between the steps in view: as they are, or where there
// are more changes than pixels, the highest of each pixel.
function outline() {
  const { steps, bytes } = data.live, points = [];
  for (let i = 0; i < steps.length; i++) {
    const next = i + 1 < steps.length ? steps[i + 1] : whole.x1;
    if (next > view.x0 && steps[i] < view.x1) points.push([X(Math.max(steps[i], view.x0)), X(Math.min(next, view.x1)), bytes[i]]);
  }
  if (points.length <= lower.w) return points;
  const columns = new Map();
  for (const [from, to, bytes] of points) {
    for (let x = Math.floor(from); x < to; x++) columns.set(x, Math.max(bytes, columns.get(x) || 0));
  }
  return Array.from(columns, ([x, bytes]) => [x, x + 1, bytes]);
}

function drawCurve(curve, axes) {
  const right = lower.x + lower.w, points = outline();
  const path = points.map(([from, to, bytes]) => `L${from.toFixed(1)} ${L(bytes).toFixed(1)}H${to.toFixed(1)}`).join('');
  curve.append(make('path', { class: 'live', d: `M${lower.x} ${L(0)}${path}V${L(0)}Z` }));
  if (!data.bound) return;
  const y = Math.round(L(data.bound)) + 0.5;
  axes.append(make('line', { class: 'bound', x1: lower.x, y1: y, x2: right, y2: y }));
  beside(axes, 'lower bound', y, 'bound');
  if (data.frame <= data.bound) return;
  const top = Math.round(L(data.frame)) + 0.5;
  axes.append(make('line', { class: 'frame', x1: lower.x, y1: top, x2: right, y2: top }));
  beside(axes, 'frame', top, 'strong');
}

// drawNames writes the names of the largest first, along or upright, where the
// visible part of the rectangle has room.
function drawNames(parent, seen) {
  const roomy = [];
  for (const i of seen) {
    const b = visible(box(i));
    if (Math.min(b.w, b.h) >= 13 && Math.max(b.w, b.h) >= 16 && !faint(i)) roomy.push({ i, b });
  }
  roomy.sort((p, q) => q.b.w * q.b.h - p.b.w * p.b.h);
  for (const { i, b } of roomy.slice(0, 2000)) nameOne(parent, i, b);
}

function visible(b) {
  const x = Math.max(b.x, panel.x), y = Math.max(b.y, panel.y);
  return { x, y, w: Math.min(b.x + b.w, panel.x + panel.w) - x, h: Math.min(b.y + b.h, panel.y + panel.h) - y };
}

function nameOne(parent, i, b) {
  const x = b.x + b.w / 2, y = b.y + b.h / 2, name = terms.name(data.names[data.group[i]]);
  const upright = b.h > b.w && textWidth(name) + 8 > b.w, text = shorten(name, (upright ? b.h : b.w) - 8);
  if (!text) return;
  const bytes = size(data.bytes[i]);
  const two = !upright && b.h >= 34 && textWidth(bytes) + 8 <= b.w;
  if (label(parent, text, x, two ? y - 7 : y, { upright, style: `on ${style(i)}` }) && two) label(parent, bytes, x, y + 7, { style: `on ${style(i)}` });
}

// shorten keeps the end of a name, which tells more than its beginning; '' when
// fewer than twelve letters would be left.
function shorten(text, room) {
  if (textWidth(text) <= room) return text;
  for (let n = Math.min(text.length - 1, Math.floor(room / 4)); n >= 12; n--) {
    const end = '…' + text.slice(-n);
    if (textWidth(end) <= room) return end;
  }
  return '';
}

// alike are the rectangles of a group that are to be seen; of a crowd, which nobody could
// tell apart, the one that was asked for.
const mostMarks = 400;
function alike(at) {
  const all = [];
  for (let i = 0; i < count; i++) if (data.group[i] === data.group[at] && inView(i)) all.push(i);
  return all.length > mostMarks ? [at] : all;
}

function drawMarks() {
  const marks = byId('marks');
  marks.replaceChildren();
  if (state.cross !== null) {
    const x = Math.round(X(state.cross)) + 0.5;
    marks.append(make('line', { class: 'cross', x1: x, y1: panel.y, x2: x, y2: panel.y + panel.h }));
  }
  for (const [at, name] of [[state.hover, 'mark'], [state.pinned, 'mark pinned']]) {
    if (at < 0) continue;
    for (const i of alike(at)) {
      const b = box(i);
      marks.append(make('rect', { class: name, x: b.x, y: b.y, width: Math.max(b.w, 1), height: Math.max(b.h, 1) }));
    }
  }
}
