// The scales of the two axes.

const count = data.first.length;

// whole is what the picture shows at first, view what it shows now: steps from x0
// to x1, addresses from y0 to y1.
const whole = { x0: data.start, x1: data.end, y0: 0, y1: Math.max(data.frame, 1) };
const view = { ...whole };

// panel is where the rectangles lie on the screen, lower where the curve does.
const panel = { x: 0, y: 0, w: 1, h: 1 };
const lower = { x: 0, y: 0, w: 1, h: 1 };
const screen = { w: 0, h: 0 };

function arrange(width, height) {
  screen.w = width;
  screen.h = height;
  panel.x = lower.x = 74;
  panel.w = lower.w = Math.max(Math.round(width) - 74 - (width < 560 ? 14 : 82), 40);
  lower.h = clamp(Math.round(height * 0.17), 40, 130);
  panel.y = 24;
  panel.h = Math.max(Math.round(height) - panel.y - 38 - lower.h - 30, 40);
  lower.y = panel.y + panel.h + 38;
}

const X = (step) => panel.x + (step - view.x0) / (view.x1 - view.x0) * panel.w;
const Y = (address) => panel.y + panel.h - (address - view.y0) / (view.y1 - view.y0) * panel.h;
const stepAt = (x) => view.x0 + (x - panel.x) / panel.w * (view.x1 - view.x0);
const addressAt = (y) => view.y0 + (panel.y + panel.h - y) / panel.h * (view.y1 - view.y0);
const highest = Math.max(terms.highest, 1);
const L = (bytes) => lower.y + lower.h - bytes / highest * lower.h;

// box is where rectangle i lies on the screen: edges on whole pixels, a gap to the
// right and below where there is room for one.
function box(i) {
  const left = Math.round(X(data.first[i]));
  const top = Math.round(Y(data.offset[i] + data.bytes[i]));
  const w = Math.round(X(data.stop[i])) - left;
  const h = Math.round(Y(data.offset[i])) - top;
  return { x: left, y: top, w: w >= 4 ? w - 1 : w, h: h >= 3 ? h - 1 : h };
}

// exact is box without whole pixels, for what is smaller than they are.
function exact(i) {
  const x = X(data.first[i]);
  const y = Y(data.offset[i] + data.bytes[i]);
  return { x, y, w: X(data.stop[i]) - x, h: Y(data.offset[i]) - y };
}

const inView = (i) => data.bytes[i] > 0 && data.stop[i] > view.x0 && data.first[i] < view.x1 &&
  data.offset[i] + data.bytes[i] > view.y0 && data.offset[i] < view.y1;

// show moves the view to a part of the whole, never outside it nor closer than a
// step and a few bytes.
function show(x0, x1, y0, y1) {
  [view.x0, view.x1] = fit(x0, x1, whole.x0, whole.x1, Math.min(1, whole.x1 - whole.x0));
  [view.y0, view.y1] = fit(y0, y1, whole.y0, whole.y1, Math.min(16, whole.y1));
}

function fit(low, high, first, last, least) {
  const length = clamp(high - low, least, last - first);
  const start = clamp((low + high - length) / 2, first, last - length);
  return [start, start + length];
}

function zoom(factor, x, y, timeAlone) {
  const s = stepAt(clamp(x, panel.x, panel.x + panel.w));
  const a = addressAt(clamp(y, panel.y, panel.y + panel.h));
  const f = timeAlone ? 1 : factor;
  show(s + (view.x0 - s) * factor, s + (view.x1 - s) * factor, a + (view.y0 - a) * f, a + (view.y1 - a) * f);
}
