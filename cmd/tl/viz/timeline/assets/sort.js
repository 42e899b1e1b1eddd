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

