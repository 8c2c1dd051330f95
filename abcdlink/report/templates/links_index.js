"use strict";
const rows = [...document.querySelectorAll("tr[data-kinds]")].map((row) => ({
  row,
  text: row.dataset.text,
  kinds: JSON.parse(row.dataset.kinds),
  link: row.querySelector("a"),
  file: row.querySelector("a").getAttribute("href"),
}));
const filters = [...document.querySelectorAll("[data-filter]")];
const search = document.getElementById("search");

// A pair is shown when one of its candidates fits all filters, and its documents have all words.
function filter() {
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  const wanted = filters.filter((one) => one.value).map((one) => [one.dataset.filter, one.value]);
  const asked = new URLSearchParams(wanted);
  let shown = 0;
  for (const { row, text, kinds, link, file } of rows) {
    const fits = kinds.some((kind) => wanted.every(([name, value]) => String(kind[name]) === value));
    row.hidden = !(fits && words.every((word) => text.includes(word)));
    shown += row.hidden ? 0 : 1;
    // Words may be in different sentences: only the filters go on to the pair.
    link.href = wanted.length ? file.replace("#", `?${asked}#`) : file;
  }
  document.getElementById("told").textContent = `${shown} of ${rows.length} pairs shown`;
}

for (const one of [...filters, search]) {
  one.addEventListener("input", filter);
}
document.querySelector(".tools").hidden = false;
filter();
