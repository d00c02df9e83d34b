"use strict";
// Sort a table by the column whose heading is pressed: numbers by their data-value, texts by the locale's order.
for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0];
  const headings = [...table.tHead.rows[0].cells];
  headings.forEach((heading, column) => {
    const button = heading.querySelector("button");
    if (!button) return;
    button.addEventListener("click", () => {
      const ascending = heading.getAttribute("aria-sort") !== "ascending";
      headings.forEach((other) => other.removeAttribute("aria-sort"));
      heading.setAttribute("aria-sort", ascending ? "ascending" : "descending");
      const key = (row) => {
        const cell = row.cells[column];
        const value = cell.dataset.value;
        return value === undefined ? cell.textContent : value === "" ? Infinity : Number(value);
      };
      const compare = (a, b) => {
        const left = key(a), right = key(b);
        if (typeof left === "number" && typeof right === "number") return left - right || 0;
        return String(left).localeCompare(String(right), undefined, { numeric: true });
      };
      const rows = [...body.rows].sort((a, b) => (ascending ? compare(a, b) : compare(b, a)));
      body.append(...rows);
    });
  });
}
