// The page of two traces: search goes through the tables, too.

const rowsOfSites = Array.from(document.querySelectorAll('.below tbody tr'));
byId('search').addEventListener('input', (event) => {
  const wanted = event.target.value.trim().toLowerCase();
  for (const row of rowsOfSites) row.hidden = !row.cells[0].textContent.toLowerCase().includes(wanted);
  byId('found').textContent = wanted ? `${commas(rowsOfSites.filter((row) => !row.hidden).length)} of ${commas(rowsOfSites.length)}` : '';
});

// The part of the address after # sets what is searched: find=NAME.
function fromAddress() {
  const wish = new URLSearchParams(location.hash.slice(1));
  byId('search').value = wish.get('find') || '';
  byId('search').dispatchEvent(new Event('input'));
  if (wish.has('check')) check();
}
window.addEventListener('hashchange', fromAddress);

