// What a memory plan calls its axes, and tells of a buffer.

// stepTicks are whole steps, one, two or five times a power of ten apart.
function stepTicks(low, high, most) {
  let step = 1;
  for (let i = 0; (high - low) / step > most; i++) step *= i % 3 === 1 ? 2.5 : 2;
  const ticks = [];
  for (let v = Math.ceil(Math.max(low, 0) / step) * step; v < Math.min(high, data.steps); v += step) {
    ticks.push({ value: v, text: commas(v) });
  }
  if (low < 0) ticks.push({ value: -1, text: 'before' });
  if (high > data.steps && data.steps > 0) ticks.push({ value: data.steps, text: 'after' });
  return ticks;
}

function stepText(step) {
  if (step < 0) return 'before the first step';
  if (step >= data.steps) return 'after the last step';
  return data.stepNames.length ? `${commas(step)}  ${data.stepNames[step]}` : commas(step);
}

function describe(i) {
  const last = data.stop[i] - 1, parts = data.group.filter((g) => g === data.group[i]).length;
  const pairs = [['Size', `${size(data.bytes[i])} (${commas(data.bytes[i])} bytes)`],
    ['Offset', `${commas(data.offset[i])} (0x${data.offset[i].toString(16)})`],
    ['First step', stepText(data.first[i])], ['Last step', stepText(last)],
    ['Alive', `${commas(data.stop[i] - data.first[i])} ${last === data.first[i] ? 'step' : 'steps'}`]];
  const text = data.details[data.detail[i]];
  if (text) pairs.unshift(['Holds', text]);
  if (parts > 1) pairs.push(['Parts', `one of ${parts} pieces of its life`]);
  rows(data.names[data.group[i]], data.kinds[data.kind[i]].name, pairs);
}

const terms = {
  horizontal: 'Step', middle: 0.5, lines: true, highest: Math.max(data.bound, data.frame, data.peak), ticks: stepTicks,
  vertical: (low, high, most) => byteTicks(low, high, most),
  describe, moment: (step) => `Step ${stepText(step)}`, place: () => [], name: (text) => text,
  style: (i) => data.looks[data.group[i]], texture: (i) => data.kinds[data.kind[i]].slot,

  // behind draws nothing; over marks the end of the frame in the panel.
  behind() {},
  over(axes) {
    if (view.y1 < data.frame || data.frame === 0) return;
    const y = Math.round(Y(data.frame)) - 0.5, right = panel.x + panel.w;
    axes.append(make('line', { x1: panel.x, y1: y, x2: right, y2: y, class: 'frame' }));
    label(axes, 'frame', right + 8, y, { anchor: 'start', style: 'strong' });
  },
};
