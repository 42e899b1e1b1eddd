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

// bandTicks name the bands in view, in the middle of what is seen of them.
function bandTicks(low, high) {
  const ticks = [];
  for (const b of data.bands) {
    const from = Math.max(b.at, low), to = Math.min(b.at + b.bytes, high);
    if (to > from) ticks.push({ value: (from + to) / 2, text: b.name, room: to - from });
  }
  return ticks.sort((a, b) => b.room - a.room);
}

function addressText(offset) {
  const b = data.bands.find((band) => offset >= band.at && offset < band.at + band.bytes);
  return b ? `0x${(BigInt(b.start) + BigInt(offset - b.at)).toString(16)} (${b.name})` : '';
}

function describe(i) {
  const [type, tag] = data.types[data.type[i]].split('\n');
  const pairs = [['Size', `${size(data.bytes[i])} (${commas(data.bytes[i])} bytes)`], ['Type', type]];
  if (tag) pairs.push(['Tag', tag]);
  pairs.push(['Address', addressText(data.offset[i])], ['Allocated', timeText(data.first[i])],
    ['Released', data.freed[i] ? timeText(data.stop[i]) : 'not in this trace'],
    ['Lived', timeText(data.stop[i] - data.first[i])], ['Site', data.stacks[data.group[i]] || 'not recorded']);
  rows(data.names[data.group[i]], data.kinds[data.kind[i]].name, pairs);
}

const poolPeak = Math.max(0, ...data.pools.bytes);

const terms = {
  horizontal: '', middle: 0, lines: false, highest: Math.max(data.peak, poolPeak), ticks: timeTicks, vertical: bandTicks,
  describe, moment: (micros) => timeText(micros),

  // behind draws bands and chunks, and what pools had from their devices.
  behind(grid) {
    const clipped = (x, w) => [clamp(x, panel.x, panel.x + panel.w), clamp(x + w, panel.x, panel.x + panel.w)];
    const area = (first, end, at, bytes, name) => {
      const [left, right] = clipped(X(first), X(end) - X(first));
      const top = clamp(Y(at + bytes), panel.y, panel.y + panel.h), bottom = clamp(Y(at), panel.y, panel.y + panel.h);
      if (right > left && bottom > top) grid.append(make('rect', { x: left, y: top, width: right - left, height: Math.max(bottom - top, 1), class: name }));
    };
    for (const b of data.bands) area(whole.x0, whole.x1, b.at, b.bytes, 'band');
    for (const c of data.chunks) area(c.first, c.end, c.at, c.bytes, 'chunk');
  },

  // over draws the line of pools, marks and alerts.
  over(axes) {
    const right = panel.x + panel.w;
    if (poolPeak > 0) drawPools(axes, right);
    if (data.peak > 0) drawPeak(axes, right);
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

function drawPools(axes, right) {
  const { steps, bytes } = data.pools, ends = [...steps.slice(1), whole.x1];
  let path = '';
  for (let i = 0; i < steps.length; i++) {
    const from = clamp(X(steps[i]), lower.x, right), to = clamp(X(ends[i]), lower.x, right);
    if (to > from) path += `${path ? 'L' : 'M'}${from.toFixed(1)} ${L(bytes[i]).toFixed(1)}H${to.toFixed(1)}`;
  }
  axes.append(make('path', { d: path, class: 'pools' }));
  beside(axes, 'pools have', Math.round(L(bytes[bytes.length - 1])), 'pooled');
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

// Tables are sorted by the column whose head is pressed.
for (const table of document.querySelectorAll('.below table.sorted')) {
  const heads = Array.from(table.tHead.rows[0].cells);
  heads.forEach((head, column) => {
    const button = head.querySelector('button');
    if (button) button.addEventListener('click', () => sortTable(table, heads, column));
  });
}

function sortTable(table, heads, column) {
  const body = table.tBodies[0], value = (row) => Number(row.cells[column].dataset.value);
  const rows = Array.from(body.rows).sort((a, b) => value(b) - value(a));
  heads.forEach((head, i) => { if (i === column) head.setAttribute('aria-sort', 'descending'); else head.removeAttribute('aria-sort'); });
  body.append(...rows);
}

