(() => {
"use strict";
const query = document.getElementById("query");
const status = document.getElementById("status");
const rows = [...document.querySelectorAll(".entry")].map((element) => ({
  element,
  text: element.textContent.toLowerCase(),
  labels: [...element.querySelectorAll(".labels span")].map((label) => label.textContent),
}));
const sections = [...document.querySelectorAll(".entries")];

// The label of the button that filled the field in: it means this label, and no longer one.
let chosen = null;

const search = () => {
  const words = query.value.toLowerCase().split(/\s+/).filter(Boolean);
  let shown = 0;
  for (const row of rows) {
    const fits = chosen === null
      ? words.every((word) => row.text.includes(word))
      : row.labels.includes(chosen);
    row.element.hidden = !fits;
    shown += fits;
  }
  for (const section of sections) {
    section.hidden = words.length > 0 && !section.querySelector(".entry:not([hidden])");
  }
  status.textContent = words.length ? `${shown.toLocaleString("en-US")} of ${rows.length.toLocaleString("en-US")} shown` : "";
};

for (const chip of document.querySelectorAll(".chip")) {
  chip.addEventListener("click", () => {
    chosen = chip.dataset.label;
    query.value = chosen;
    search();
    query.focus();
  });
}
query.addEventListener("input", () => {
  chosen = null;
  search();
});
search();
})();
