// Filters, search and sorting of the table of claims, and the lines of a statement in the graph.
// Without this file all rows and all lines are shown.
"use strict";

(function table() {
  const form = document.getElementById("filters");
  const body = document.querySelector("#claims tbody");
  if (!form || !body) return;
  const rows = Array.from(body.rows);
  const words = new Map(rows.map((row) => [row, row.textContent.toLowerCase()]));
  const count = document.getElementById("count");
  form.hidden = false;

  function shown(row) {
    const wanted = form.q.value.toLowerCase().split(/\s+/).filter(Boolean);
    return (
      wanted.every((word) => words.get(row).includes(word)) &&
      ["paper", "verdict", "kind"].every(
        (name) => !form[name].value || row.dataset[name] === form[name].value
      ) &&
      (!form.unexpected.checked || "unexpected" in row.dataset)
    );
  }

  function apply() {
    let n = 0;
    for (const row of rows) {
      row.hidden = !shown(row);
      if (!row.hidden) n += 1;
    }
    count.textContent =
      n === rows.length ? `${n} claims` : `${n} of ${rows.length} claims`;
  }

  // The filters stand in the address, so that a link can hold them.
  function remember() {
    const set = new URLSearchParams();
    for (const [name, value] of new FormData(form)) if (value) set.set(name, value);
    history.replaceState(null, "", `#${set}`);
  }

  function recall() {
    const set = new URLSearchParams(location.hash.slice(1));
    const known = ["q", "paper", "verdict", "kind", "unexpected"];
    if (![...set.keys()].some((name) => known.includes(name))) return;
    for (const name of ["q", "paper", "verdict", "kind"]) form[name].value = set.get(name) || "";
    form.unexpected.checked = set.has("unexpected");
    apply();
  }

  for (const kind of ["input", "change"]) {
    form.addEventListener(kind, () => { apply(); remember(); });
  }
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(() => { apply(); remember(); }));
  window.addEventListener("hashchange", () => {
    recall();
    document.getElementById("verdicts").scrollIntoView();
  });
  recall();

  const heads = Array.from(document.querySelectorAll("#claims thead th"));
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const up = head.getAttribute("aria-sort") !== "ascending";
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      const key = (row) => {
        const text = row.cells[column].dataset.sort;
        return text === "" ? null : Number(text);
      };
      // Rows without a number stay at the end in both directions.
      rows.sort((a, b) => {
        const [x, y] = [key(a), key(b)];
        if (x === null || y === null) return (x === null) - (y === null);
        return x === y ? 0 : (x < y) === up ? -1 : 1;
      });
      body.append(...rows);
    });
  });
})();

(function graph() {
  const drawing = document.getElementById("graph");
  if (!drawing) return;
  const edges = Array.from(drawing.querySelectorAll(".edge"));
  const nodes = new Map(
    Array.from(drawing.querySelectorAll(".node")).map((node) => [node.dataset.id, node])
  );

  function mark(id) {
    for (const item of drawing.querySelectorAll(".near")) item.classList.remove("near");
    drawing.classList.toggle("active", id !== null);
    if (id === null) return;
    nodes.get(id).classList.add("near");
    for (const edge of edges) {
      const { source, target } = edge.dataset;
      if (source !== id && target !== id) continue;
      edge.classList.add("near");
      nodes.get(source === id ? target : source).classList.add("near");
    }
  }

  for (const [id, node] of nodes) {
    node.addEventListener("pointerenter", () => mark(id));
    node.addEventListener("pointerleave", () => mark(null));
    node.addEventListener("focusin", () => mark(id));
    node.addEventListener("focusout", () => mark(null));
  }
})();
