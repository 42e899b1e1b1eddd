// A flame graph: callers above what they call, as wide as the bytes that came from there.
// One with figures of an earlier trace shows what grew and what shrank.

const measures = [['peak', 'At the peak'], ['end', 'At the end'], ['bytes', 'In all'], ['count', 'Allocations']];
const rowHeight = 19;

function flame(tree) {
  const host = byId('flame'), about = byId('flamed'), total = tree.name.length;
  const chosen = { measure: 'peak', root: 0, wanted: '' };
  const parents = new Int32Array(total).fill(-1), kids = Array.from({ length: total }, () => []);
  for (let i = 1, path = [0]; i < total; i++) {
    path.length = tree.depth[i];
    parents[i] = path[path.length - 1];
    kids[parents[i]].push(i);
    path.push(i);
  }
  const names = tree.name.map((n) => tree.names[n]);
  const is = (i) => tree.figures[chosen.measure][i], was = (i) => (tree.before ? tree.before[chosen.measure][i] : 0);

  // A node is as wide as what came from it: in a comparison, the larger of both traces at
  // each place, so that what vanished is there, too.
  let widths = [];
  function measure() {
    widths = new Array(total).fill(0);
    for (let i = total - 1; i >= 0; i--) {
      if (!tree.before) { widths[i] = is(i); continue; }
      const own = (figure) => figure(i) - kids[i].reduce((sum, k) => sum + figure(k), 0);
      widths[i] += Math.max(own(is), own(was), 0);
      if (i > 0) widths[parents[i]] += widths[i];
    }
  }

  const amount = (n) => (chosen.measure === 'count' ? commas(n) : size(n));
  const signed = (n) => (n === 0 ? '±0' : `${n < 0 ? '−' : '+'}${amount(Math.abs(n))}`);
  function change(i) {
    const a = was(i), b = is(i), most = Math.max(a, b, 1);
    return a === b ? 0 : Math.sign(b - a) * (Math.abs(b - a) / most > 0.5 ? 3 : Math.abs(b - a) / most > 0.1 ? 2 : 1);
  }
  const look = (i) => (tree.before ? `d${change(i) + 3}` : i ? `k${tree.name[i] % 8} t1` : 'd3');
  function tell(i) {
    const share = (n, all) => `${(100 * n / Math.max(all, 1)).toFixed(1)} %`;
    if (!tree.before) return `${names[i]}: ${amount(is(i))}, ${share(is(i), is(0))}`;
    return `${names[i]}: ${signed(is(i) - was(i))}, from ${amount(was(i))} to ${amount(is(i))}`;
  }

  function box(i, left, width, row) {
    const b = document.createElement('button');
    b.type = 'button';
    b.className = `${look(i)}${chosen.wanted ? (names[i].toLowerCase().includes(chosen.wanted) ? ' found' : ' faint') : ''}`;
    b.style.cssText = `left:${left * 100}%;width:${width * 100}%;top:${row * rowHeight}px`;
    b.textContent = tree.before && change(i) ? `${signed(is(i) - was(i))} ${names[i]}` : names[i];
    b.title = tell(i);
    b.tabIndex = -1;
    b.dataset.node = i;
    host.append(b);
  }

  function draw(focus) {
    const pixels = host.clientWidth || 1000, root = chosen.root;
    host.replaceChildren();
    let row = 0, deepest = 0;
    for (const i of [...above(root), root]) box(i, 0, 1, row++);
    const all = widths[root];
    const under = (i, left, at) => {
      deepest = Math.max(deepest, at);
      for (const k of kids[i]) {
        const part = all ? widths[k] / all : 0;
        if (part * pixels >= 1.5) { box(k, left, part, at); under(k, left, at + 1); }
        left += part;
      }
    };
    if (all) under(root, 0, row);
    host.style.height = `${Math.max(row, deepest) * rowHeight}px`;
    const first = host.querySelector(`[data-node="${root}"]`);
    first.tabIndex = 0;
    if (focus) first.focus();
    about.textContent = all ? tell(root) : 'Nothing of this kind.';
  }

  function above(i) {
    const list = [];
    for (let p = parents[i]; p >= 0; p = parents[p]) list.unshift(p);
    return list;
  }

  function zoomTo(i, focus) {
    chosen.root = i;
    draw(focus);
  }

  const nodeOf = (event) => { const b = event.target.closest('button'); return b ? Number(b.dataset.node) : -1; };
  host.addEventListener('click', (event) => { const i = nodeOf(event); if (i >= 0) zoomTo(i, true); });
  for (const kind of ['pointerover', 'focusin']) {
    host.addEventListener(kind, (event) => { const i = nodeOf(event); if (i >= 0) about.textContent = tell(i); });
  }
  host.addEventListener('keydown', (event) => {
    const i = nodeOf(event), shown = (k) => host.querySelector(`[data-node="${k}"]`);
    if (event.key === 'Escape') return zoomTo(0, true);
    const beside = i > 0 ? kids[parents[i]].filter(shown) : [i], at = beside.indexOf(i);
    const next = { ArrowUp: parents[i], ArrowDown: kids[i].find(shown), ArrowLeft: beside[at - 1], ArrowRight: beside[at + 1] }[event.key];
    if (!event.key.startsWith('Arrow')) return;
    event.preventDefault();
    if (next === undefined || next < 0) return;
    shown(i).tabIndex = -1;
    shown(next).tabIndex = 0;
    shown(next).focus();
  });
  for (const [name, text] of measures) {
    const b = document.createElement('button');
    b.type = 'button';
    b.textContent = text;
    b.setAttribute('aria-pressed', String(name === chosen.measure));
    b.addEventListener('click', () => {
      chosen.measure = name;
      for (const other of byId('measures').children) other.setAttribute('aria-pressed', String(other === b));
      measure();
      draw();
    });
    byId('measures').append(b);
  }
  byId('search').addEventListener('input', (event) => { chosen.wanted = event.target.value.trim().toLowerCase(); draw(); });
  measure();
  draw();
  new ResizeObserver(() => { if (host.clientWidth) draw(host.contains(document.activeElement)); }).observe(host.parentElement);
}

if (byId('flame')) flame(data.flame);

