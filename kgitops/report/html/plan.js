(() => {
"use strict";
const form = document.getElementById("filter");
if (!form) return;
const query = document.getElementById("query");
const status = document.getElementById("status");
const unseen = document.getElementById("unseen");
const boxes = [...form.querySelectorAll("input[type=checkbox]")];
const FACETS = ["action", "kind", "level", "policy"];
const OPEN_AT_ONCE = 200;
const number = (count) => count.toLocaleString("en-US");
const counted = (count, noun) => `${number(count)} ${noun}${count === 1 ? "" : "s"}`;

const groups = [...document.querySelectorAll(".group")].map((element) => ({
  element,
  wasOpen: element.open,
  count: element.querySelector("summary .n"),
  rows: [...element.querySelectorAll(".change")].map((row) => ({
    element: row,
    text: null,
    action: row.dataset.action.split(","),
    kind: [row.dataset.kind],
    level: [row.dataset.level],
    policy: row.dataset.policy.split(","),
  })),
}));
const rows = groups.flatMap((group) => group.rows);

const textOf = (row) => {
  if (row.text === null) {
    const parts = row.element.querySelectorAll("summary .kind, summary .name, summary .code, summary .place");
    row.text = [...parts].map((part) => part.textContent).join(" ").toLowerCase();
  }
  return row.text;
};

// What may be overlooked when it is filtered out is always told.
const GRAVE = [
  ["deletion", (row) => row.action.includes("delete")],
  ["denied change", (row) => row.policy.includes("denied")],
  ["change with data loss", (row) => row.level[0] === "data-loss", "changes with data loss"],
  ["change with access loss", (row) => row.level[0] === "access-loss", "changes with access loss"],
];

const wanted = () => FACETS.map((name) => [
  name,
  new Set(boxes.filter((box) => box.name === name && box.checked).map((box) => box.value)),
]).filter(([, values]) => values.size);

const apply = () => {
  const words = query.value.toLowerCase().split(/\s+/).filter(Boolean);
  const facets = wanted();
  const filtering = words.length > 0 || facets.length > 0;
  let shown = 0;
  const hidden = GRAVE.map(() => 0);
  for (const group of groups) {
    let here = 0;
    for (const row of group.rows) {
      const fits = facets.every(([name, values]) => row[name].some((value) => values.has(value)))
        && words.every((word) => textOf(row).includes(word));
      if (row.element.hidden === fits) row.element.hidden = !fits;
      if (fits) here += 1;
      else GRAVE.forEach(([, is], index) => { hidden[index] += is(row) ? 1 : 0; });
    }
    shown += here;
    const total = group.rows.length;
    group.count.textContent = here === total ? number(total) : `${number(here)} of ${number(total)}`;
    group.element.classList.toggle("empty", here === 0);
    const open = filtering ? here > 0 : group.wasOpen;
    if (filtering !== group.filtering || filtering) group.element.open = open;
    group.filtering = filtering;
  }
  status.textContent = `Showing ${number(shown)} of ${counted(rows.length, "change")}`;
  const told = GRAVE.map(([one, , many], index) => hidden[index] && (
    hidden[index] === 1 || !many ? counted(hidden[index], one) : `${number(hidden[index])} ${many}`
  )).filter(Boolean);
  unseen.hidden = told.length === 0;
  unseen.textContent = told.length ? `Filtered out: ${told.join(", ")}` : "";
  measure();
};

// The headings of groups stop below the bar, which grows with what it says.
const measure = () => {
  form.parentElement.style.setProperty("--bar", `${form.firstElementChild.offsetHeight}px`);
};

const clear = () => {
  query.value = "";
  for (const box of boxes) box.checked = false;
  apply();
};

const reveal = () => {
  const target = document.getElementById(location.hash.slice(1));
  if (!target || !target.classList.contains("change")) return;
  if (target.hidden) clear();
  target.closest(".group").open = true;
  target.open = true;
  target.querySelector("summary").focus();
};

let waiting = false;
const soon = () => {
  if (waiting) return;
  waiting = true;
  requestAnimationFrame(() => { waiting = false; apply(); });
};

form.addEventListener("submit", (event) => event.preventDefault());
form.addEventListener("input", soon);
document.getElementById("clear").addEventListener("click", () => { clear(); query.focus(); });
document.getElementById("open-shown").addEventListener("click", () => {
  const closed = rows.filter((row) => !row.element.hidden && !row.element.open);
  for (const row of closed.slice(0, OPEN_AT_ONCE)) {
    row.element.closest(".group").open = true;
    row.element.open = true;
  }
  if (closed.length > OPEN_AT_ONCE) status.textContent += `; opened ${OPEN_AT_ONCE} of them`;
});
document.getElementById("close-all").addEventListener("click", () => {
  for (const row of rows) row.element.open = false;
});
document.addEventListener("keydown", (event) => {
  if (event.key === "/" && !event.ctrlKey && !event.metaKey && !event.altKey && event.target !== query) {
    event.preventDefault();
    query.focus();
    query.select();
  } else if (event.key === "Escape") {
    clear();
  }
});
window.addEventListener("hashchange", reveal);
window.addEventListener("resize", measure);
form.hidden = false;
apply();
reveal();
})();
