"use strict";
const all = (what, from = document) => [...from.querySelectorAll(what)];
const cards = all(".link");
const filters = all("[data-filter]");
const search = document.getElementById("search");
const told = document.getElementById("told");
let current = null;

function shown(card) {
  return !card.hidden;
}

function filter() {
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  for (const card of cards) {
    const fits = filters.every((one) => !one.value || card.dataset[one.dataset.filter] === one.value);
    card.hidden = !(fits && words.every((word) => card.dataset.text.includes(word)));
  }
  for (const pair of all(".pair")) {
    pair.hidden = !all(".link", pair).some(shown);
  }
  count();
}

function chosen() {
  const visible = cards.filter(shown);
  const marked = visible.filter((card) => card.querySelector("input").checked);
  return marked.length ? marked : visible;
}

function count() {
  const visible = cards.filter(shown).length;
  const marked = cards.filter((card) => shown(card) && card.querySelector("input").checked).length;
  told.textContent = `${visible} of ${cards.length} shown` + (marked ? `, ${marked} selected` : "");
}

// The documents scroll in boxes of their own: the page itself stays where it is.
function bring(box, sentence) {
  if (box && sentence && box.scrollHeight > box.clientHeight) {
    box.scrollTop = sentence.offsetTop - box.offsetTop - box.clientHeight / 3;
  }
}

function select(card) {
  for (const one of all(".current, .near, .on")) {
    one.classList.remove("current", "near", "on");
  }
  current = card;
  if (!card) {
    return;
  }
  card.classList.add("current");
  const pair = card.closest(".pair");
  for (const side of ["source", "target"]) {
    const sentence = pair.querySelector(`.doc.${side} [data-place="${card.dataset[side + "Place"]}"]`);
    sentence.classList.add("on");
    bring(sentence.closest(".doc"), sentence);
  }
  const near = (one, side) => Math.abs(one.dataset[side + "Place"] - card.dataset[side + "Place"]) <= 1;
  for (const one of all(".link", pair)) {
    if (one !== card && near(one, "source") && near(one, "target")) {
      one.classList.add("near");
    }
  }
}

function step(by) {
  const visible = cards.filter(shown);
  const at = visible.indexOf(current);
  const next = visible[at < 0 ? 0 : Math.min(Math.max(at + by, 0), visible.length - 1)];
  if (next) {
    select(next);
    next.scrollIntoView({ block: "nearest" });
  }
}

const COLUMNS = ["pair", "source", "target", "label", "agreement", "votes", "again", "decision", "method", "batch", "probability", "sourceText", "targetText"];

function record(card) {
  return Object.fromEntries(COLUMNS.map((name) => [name, card.dataset[name] || ""]));
}

function table(separator, quote) {
  const rows = chosen().map(record).map((one) => COLUMNS.map((name) => quote(one[name])).join(separator));
  return [COLUMNS.map(quote).join(separator), ...rows].join("\n") + "\n";
}

async function copy() {
  const text = table("\t", (value) => value.replace(/\s+/g, " "));
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const box = document.createElement("textarea");
    box.value = text;
    document.body.append(box);
    box.select();
    document.execCommand("copy");
    box.remove();
  }
  told.textContent = `${chosen().length} copied`;
}

function save(name, text) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}

const quoted = (value) => `"${value.replaceAll('"', '""')}"`;
const name = document.body.dataset.run;
document.getElementById("copy").addEventListener("click", copy);
document.getElementById("csv").addEventListener("click", () => save(`${name}-links.csv`, "\ufeff" + table(",", quoted)));
document.getElementById("jsonl").addEventListener("click", () =>
  save(`${name}-links.jsonl`, chosen().map((card) => JSON.stringify(record(card)) + "\n").join("")));
for (const one of filters) {
  one.addEventListener("change", filter);
}
search.addEventListener("input", filter);
document.addEventListener("change", count);
document.addEventListener("click", (event) => {
  const sentence = event.target.closest(".s[data-links]");
  const card = event.target.closest(".link");
  if (sentence) {
    const pair = sentence.closest(".pair");
    const side = sentence.closest(".doc").classList.contains("source") ? "sourcePlace" : "targetPlace";
    const found = all(".link", pair).filter((one) => shown(one) && one.dataset[side] === sentence.dataset.place);
    // Clicking again goes to the next link of the same sentence.
    select(found[(found.indexOf(current) + 1) % found.length] || null);
    current?.scrollIntoView({ block: "nearest" });
  } else if (card && !event.target.closest("input")) {
    select(card);
  }
});
document.addEventListener("keydown", (event) => {
  if (event.target.closest("input[type=search], select") || event.ctrlKey || event.metaKey || event.altKey) {
    return;
  }
  const moves = { j: 1, ArrowDown: 1, k: -1, ArrowUp: -1 };
  if (event.key in moves) {
    event.preventDefault();
    step(moves[event.key]);
  } else if (event.key === "x" && current) {
    current.querySelector("input").click();
  }
});
document.querySelector(".tools").hidden = false;
const asked = new URLSearchParams(location.search); // the index says what it was filtered by
for (const one of filters) {
  one.value = asked.get(one.dataset.filter) || "";
}
filter();
