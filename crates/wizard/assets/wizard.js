// What pages do besides their forms. Everything works without it, by forms and links alone.
"use strict";

// On a narrow screen the steps scroll sideways.
for (const current of document.querySelectorAll(".steps .current")) {
  const list = current.parentElement;
  if (list.scrollWidth > list.clientWidth) list.scrollLeft = current.offsetLeft - list.offsetLeft - list.clientWidth / 3;
}

// Copies a text; where the browser forbids that, the button stays hidden.
for (const button of document.querySelectorAll("[data-copy]")) {
  if (!navigator.clipboard) continue;
  button.hidden = false;
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).innerText);
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  });
}

// A field above long lists that hides rows whose text does not have what is typed.
for (const listing of document.querySelectorAll("[data-filter]")) {
  const rows = [...listing.querySelectorAll("tbody tr")];
  if (rows.length < 8) continue;
  const bar = document.createElement("div");
  bar.className = "filter";
  const input = document.createElement("input");
  input.type = "search";
  input.placeholder = "Filter";
  input.setAttribute("aria-label", "Filter the list");
  bar.append(input);
  const apply = () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const row of rows) row.hidden = !words.every((word) => row.textContent.toLowerCase().includes(word));
  };
  input.addEventListener("input", apply);
  input.addEventListener("keydown", (event) => { if (event.key === "Enter") event.preventDefault(); });
  listing.before(bar);
}

// One box for all rows of a list that are shown.
for (const listing of document.querySelectorAll("[data-all]")) {
  const label = document.createElement("label");
  label.className = "tick";
  const box = document.createElement("input");
  box.type = "checkbox";
  label.append(box, " All that are shown, views aside");
  box.addEventListener("change", () => {
    for (const row of listing.querySelectorAll("tbody tr")) {
      const own = row.querySelector("input[type=checkbox]");
      if (own && !row.hidden && !row.querySelector(".tag")) own.checked = box.checked;
    }
  });
  const bar = listing.previousElementSibling;
  if (bar && bar.className === "filter") bar.append(label); else listing.before(label);
}

// A table that is picked from a list is written into the field.
for (const radio of document.querySelectorAll("[name=picked]")) {
  radio.addEventListener("change", () => {
    const field = document.getElementById("table");
    if (field) field.value = radio.value;
  });
}

// Parts of a page that take a while.
for (const part of document.querySelectorAll("[data-load]")) {
  const stop = new AbortController();
  part.querySelector("[data-stop]")?.addEventListener("click", () => stop.abort());
  fetch(part.dataset.load, { signal: stop.signal })
    .then((answer) => answer.text())
    .then((text) => {
      part.innerHTML = text;
      // A plan that fails is no copy that is ready to run.
      const title = document.querySelector("h1");
      if (part.id === "plan" && part.querySelector("[data-unready]") && title && document.querySelector("form.go")) {
        title.textContent = "Not ready to run";
        document.querySelector("form.go button").disabled = true;
      }
    })
    .catch(() => {
      part.textContent = stop.signal.aborted ? "Stopped. The copy can be run all the same." : "The wizard does not answer any more.";
    })
    .finally(() => part.removeAttribute("aria-busy"));
}

// The preview follows the form, a moment after the last change.
for (const form of document.querySelectorAll("form[data-preview]")) {
  const place = form.querySelector("#preview");
  let timer = 0;
  let latest = 0;
  const load = () => {
    const number = ++latest;
    place.setAttribute("aria-busy", "true");
    fetch(form.dataset.preview, { method: "POST", body: new URLSearchParams(new FormData(form)) })
      .then((answer) => (answer.ok ? answer.text() : ""))
      .then((text) => { if (number === latest) place.innerHTML = text; })
      .catch(() => { place.textContent = "The wizard does not answer any more."; })
      .finally(() => { if (number === latest) place.removeAttribute("aria-busy"); });
  };
  const later = () => { clearTimeout(timer); timer = setTimeout(load, 400); };
  form.addEventListener("input", later);
  form.addEventListener("change", later);
  form.addEventListener("wizard:changed", later);
  if (place) load();
}

// Columns are mapped by dragging a source's name to another row: the two rows change places at the source.
for (const table of document.querySelectorAll("[data-order]")) {
  let dragged = null;
  const rowOf = (event) => event.target.closest("tbody tr");
  table.addEventListener("dragstart", (event) => {
    dragged = rowOf(event);
    if (!dragged) return;
    event.dataTransfer.effectAllowed = "move";
    event.dataTransfer.setData("text/plain", "");
    dragged.classList.add("dragged");
  });
  table.addEventListener("dragover", (event) => {
    const row = rowOf(event);
    if (!dragged || !row || row === dragged) return;
    event.preventDefault();
    for (const other of table.querySelectorAll(".over")) other.classList.remove("over");
    row.classList.add("over");
  });
  table.addEventListener("drop", (event) => {
    const row = rowOf(event);
    if (!dragged || !row || row === dragged) return;
    event.preventDefault();
    const mine = dragged.querySelector("select[name^='name.']");
    const theirs = row.querySelector("select[name^='name.']");
    if (mine && theirs) {
      [mine.value, theirs.value] = [theirs.value, mine.value];
      for (const select of [mine, theirs]) select.closest("tr").querySelector("[type=checkbox]").checked = select.value !== "";
    } else {
      const after = dragged.compareDocumentPosition(row) & Node.DOCUMENT_POSITION_FOLLOWING;
      if (after) row.after(dragged); else row.before(dragged);
    }
    table.dispatchEvent(new CustomEvent("wizard:changed", { bubbles: true }));
  });
  table.addEventListener("dragend", () => {
    for (const row of table.querySelectorAll(".over, .dragged")) row.classList.remove("over", "dragged");
    dragged = null;
  });
  // A column that gets a destination is copied, and one that loses it is not.
  table.addEventListener("change", (event) => {
    if (event.target.matches("select[name^='name.']")) {
      event.target.closest("tr").querySelector("[type=checkbox]").checked = event.target.value !== "";
    }
  });
}

// The copy under way.
for (const running of document.querySelectorAll("[data-events]")) {
  const source = new EventSource(running.dataset.events);
  let said = 0;
  source.addEventListener("progress", (event) => {
    const progress = JSON.parse(event.data);
    for (const place of running.querySelectorAll("[data-live]")) place.textContent = progress[place.dataset.live];
    const table = running.querySelector("[data-tables]");
    table.hidden = progress.tables.length === 0;
    table.tBodies[0].replaceChildren(...progress.tables.map(([name, rows]) => {
      const row = document.createElement("tr");
      const cells = [document.createElement("td"), document.createElement("td")];
      cells[0].textContent = name;
      cells[1].textContent = rows;
      cells[1].className = "figure";
      row.append(...cells);
      return row;
    }));
    // A screen reader hears of it every ten seconds.
    if (Date.now() - said > 10000 && progress.rows !== "0") {
      said = Date.now();
      running.querySelector("[data-said]").textContent = `${progress.rows} rows, ${progress.refused} refused`;
    }
  });
  source.addEventListener("open", () => { running.querySelector("[data-lost]").hidden = true; });
  source.addEventListener("error", () => { running.querySelector("[data-lost]").hidden = false; });
  source.addEventListener("end", () => {
    source.close();
    location.assign(running.dataset.after);
  });
}
