(() => {
"use strict";
const query = document.getElementById("query");
const status = document.getElementById("status");
const rows = [...document.querySelectorAll(".entry")].map((element) => ({
  element,
  text: element.textContent.toLowerCase(),
}));
const sections = [...document.querySelectorAll(".entries")];

const search = () => {
  const words = query.value.toLowerCase().split(/\s+/).filter(Boolean);
  let shown = 0;
  for (const row of rows) {
    const fits = words.every((word) => row.text.includes(word));
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
    query.value = chip.dataset.label;
    search();
    query.focus();
  });
}
query.addEventListener("input", search);
search();
})();
