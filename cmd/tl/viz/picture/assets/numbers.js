// Data, and numbers for people.
'use strict';

const data = JSON.parse(document.getElementById('data').textContent);
const byId = (id) => document.getElementById(id);
const clamp = (v, low, high) => Math.min(Math.max(v, low), high);
const commas = (n) => n.toString().replace(/\B(?=(\d{3})+$)/g, ',');
const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];

// size has one decimal below ten and none above, halves rounded up, as the figures at the
// head of the page have.
function size(bytes) {
  if (bytes < 10) return `${bytes} B`;
  const e = Math.min(Math.floor(Math.log2(bytes) / 10), units.length - 1);
  const value = bytes / 1024 ** e, parts = value < 10 ? 10 : 1;
  const rounded = Math.floor(value * parts + 0.5) / parts;
  return `${rounded.toFixed(rounded < 10 ? 1 : 0)} ${units[e]}`;
}

// byteTicks are multiples of a power of two, at most `most` of them from low to high, in
// the largest unit that leaves three decimals at most and of which there is one.
function byteTicks(low, high, most) {
  let step = 1;
  while ((high - low) / step > most) step *= 2;
  const e = clamp(Math.min(Math.floor((Math.log2(step) + 3) / 10), Math.floor(Math.log2(Math.max(high, 1)) / 10)), 0, units.length - 1);
  const ticks = [];
  for (let v = Math.ceil(low / step) * step; v <= high; v += step) {
    const number = String(v / 1024 ** e).replace(/^\d+/, commas);
    ticks.push({ value: v, text: v === 0 ? '0' : `${number} ${units[e]}` });
  }
  return ticks;
}

// TERMS
