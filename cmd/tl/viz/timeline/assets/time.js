// What a trace calls its axes, and tells of an allocation. Time is in microseconds.

function timeText(micros, digits = 3) {
  if (micros >= 1e6) return `${(micros / 1e6).toFixed(digits)} s`;
  if (micros >= 1e3) return `${(micros / 1e3).toFixed(digits)} ms`;
  return `${micros.toFixed(Math.min(digits, 1))} µs`;
}

// timeTicks are one, two or five times a power of ten microseconds apart, all in the
// unit of the largest.
function timeTicks(low, high, most) {
  let step = 0.1;
  for (let i = 0; (high - low) / step > most / 1.5; i++) step *= i % 3 === 1 ? 2.5 : 2;
  const [divisor, unit] = high >= 1e6 ? [1e6, 's'] : high >= 1e3 ? [1e3, 'ms'] : [1, 'µs'];
  const digits = Math.max(0, -Math.floor(Math.log10(step / divisor) + 1e-9)), ticks = [];
  for (let n = Math.ceil(low / step); n * step <= high; n++) {
    ticks.push({ value: n * step, text: n === 0 ? '0' : `${(n * step / divisor).toFixed(digits)} ${unit}` });
  }
  return ticks;
}

// regionTicks name heap, malloc and pools, in the middle of what is seen of them.
function regionTicks(low, high) {
  const ticks = [];
  for (const r of data.regions) {
    const from = Math.max(r.at, low), to = Math.min(r.at + r.bytes, high);
    if (to > from) ticks.push({ value: (from + to) / 2, text: r.name, room: to - from });
  }
  return ticks.sort((a, b) => b.room - a.room);
}

const isCut = (p) => !p.used && p.room < p.bytes;

function pieceAt(place) {
  return data.pieces.find((p) => place >= p.at && place < p.at + p.room);
}

// addressText is exact where the axis is to scale.
function addressText(place) {
  const p = pieceAt(place);
  return p && !isCut(p) ? `0x${(BigInt(p.start) + BigInt(Math.floor(place - p.at))).toString(16)}${p.name ? ` (${p.name})` : ''}` : '';
}

// placeText tells what lies between blocks.
function placeText(place) {
  const p = pieceAt(place);
  if (p && isCut(p)) return `${size(p.bytes)} ${p.name ? `of ${p.name}, never used` : 'of addresses that nobody used'}; not to scale`;
  return addressText(place);
}

function describe(i) {
  const [type, tag] = data.types[data.type[i]].split('\n');
  const pairs = [['Size', `${size(data.bytes[i])} (${commas(data.bytes[i])} bytes)`], ['Type', type]];
  if (tag) pairs.push(['Tag', tag]);
  pairs.push(['Address', addressText(data.offset[i])], ['Allocated', timeText(data.first[i])],
    ['Released', data.freed[i] ? timeText(data.stop[i]) : 'not in this trace'],
    ['Lived', timeText(data.stop[i] - data.first[i])], ['Site', data.stacks[data.group[i]] || 'not recorded']);
  if (data.paths[data.path[i]]) pairs.push(['Held by', data.paths[data.path[i]]]);
  rows(data.names[data.group[i]], data.kinds[data.kind[i]].name, pairs);
}

const poolPeak = Math.max(0, ...data.pools.bytes);

// What pools have is a line where that leaves the live bytes half of the height, and else
// a line at the upper edge.
const poolsFit = poolPeak <= 2 * data.peak || data.peak === 0;

const terms = {
  horizontal: '', middle: 0, lines: false, highest: poolsFit ? Math.max(data.peak, poolPeak) : data.peak, ticks: timeTicks, vertical: regionTicks,
  describe, moment: (micros) => timeText(micros),
  style: (i) => `k${data.kinds[data.kind[i]].slot} t${data.group[i] % 3}`, texture: () => 0,
  name: (site) => site.split(' ← ')[0],
  place: (at) => [['Address', placeText(at)]],

  // behind draws bands and chunks, and what pools had from their devices.
  behind(grid) {
    const clipped = (x, w) => [clamp(x, panel.x, panel.x + panel.w), clamp(x + w, panel.x, panel.x + panel.w)];
    const area = (first, end, at, bytes, name) => {
      const [left, right] = clipped(X(first), X(end) - X(first));
      const top = clamp(Y(at + bytes), panel.y, panel.y + panel.h), bottom = clamp(Y(at), panel.y, panel.y + panel.h);
      if (right > left && bottom > top) grid.append(make('rect', { x: left, y: top, width: right - left, height: Math.max(bottom - top, 1), class: name }));
    };
    for (const r of data.regions) area(whole.x0, whole.x1, r.at, r.bytes, 'band');
    for (const c of data.chunks) area(c.first, c.end, c.at, c.bytes, 'chunk');
  },

  // over draws where the axis is cut, the line of pools, marks and alerts.
  over(axes) {
    const right = panel.x + panel.w;
    drawCuts(axes, right);
    if (data.peak > 0) drawPeak(axes, right);
    if (poolPeak > 0) drawPools(axes, right);
    for (const [list, name] of [[data.alerts, 'alert'], [data.marks, 'sign']]) {
      for (const m of list) {
        const x = Math.round(X(m.time)) + 0.5;
        if (x < panel.x || x > right + 1) continue;
        axes.append(make('line', { x1: x, y1: panel.y - 4, x2: x, y2: lower.y + lower.h, class: name }));
        label(axes, m.name, x, panel.y - 11, { style: name === 'alert' ? 'bound' : 'strong' });
      }
    }
  },
};

// drawCuts marks what is left out of the axis: a jagged line across it, and how much.
function drawCuts(axes, right) {
  const cuts = data.pieces.filter((p) => isCut(p) && p.at + p.room > view.y0 && p.at < view.y1);
  for (const p of cuts.sort((a, b) => b.bytes - a.bytes)) {
    const y = Math.round(Y(p.at + p.room / 2)), room = Y(p.at) - Y(p.at + p.room);
    if (room < 3 || y < panel.y || y > panel.y + panel.h) continue;
    const high = clamp(room / 4, 1, 3);
    let path = `M${panel.x - 5} ${y}`;
    for (let x = panel.x - 5, up = true; x < right + 5; x += 6, up = !up) path += `l6 ${up ? -high : high}`;
    axes.append(make('path', { d: path, class: 'cut' }));
    if (!p.name) continue;
    const text = `${size(p.bytes)} unused`;
    if (!label(axes, text, right + 10, y, { anchor: 'start' })) label(axes, text, right - 6, y, { anchor: 'end', style: 'over' });
  }
}

function drawPools(axes, right) {
  const { steps, bytes } = data.pools, ends = [...steps.slice(1), whole.x1];
  const height = (b) => Math.max(L(b), lower.y);
  let path = '';
  for (let i = 0; i < steps.length; i++) {
    const from = clamp(X(steps[i]), lower.x, right), to = clamp(X(ends[i]), lower.x, right);
    if (to > from) path += `${path ? 'L' : 'M'}${from.toFixed(1)} ${height(bytes[i]).toFixed(1)}H${to.toFixed(1)}`;
  }
  axes.append(make('path', { d: path, class: 'pools' }));
  const last = bytes[bytes.length - 1];
  beside(axes, last > highest ? 'pools ↑' : 'pools have', Math.round(height(last)), 'pooled');
}

// drawPeak marks when most was live.
function drawPeak(axes, right) {
  const x = X(data.when), y = L(data.peak), text = `peak ${size(data.peak)}`;
  if (x < panel.x || x > right) return;
  axes.append(make('circle', { cx: x, cy: y, r: 3.5, class: 'peak' }));
  const room = textWidth(text) + 10;
  for (const [at, anchor] of [[x + 8, 'start'], [x - 8, 'end']]) {
    const inside = anchor === 'start' ? at + room <= right : at - room >= panel.x;
    if (inside && label(axes, text, at, Math.max(y - 9, lower.y - 9), { anchor, style: 'strong over' })) return;
  }
}

