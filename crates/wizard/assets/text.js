"use strict";
// Live looks at a text file, and the ruler for columns of fixed width. Without this script the pages work by their buttons.
(() => {
  const form = document.querySelector("form[data-look]");
  const types = document.querySelector("#types[data-reading=true]");
  if (types) follow(types);
  if (!form) return;
  const look = document.getElementById("look");
  const field = form.elements.namedItem("breaks");
  let caret = 0;
  let asked = 0;
  let timer = 0;

  const breaks = () => [...new Set(field.value.split(/[^0-9]+/).filter(Boolean).map(Number))].sort((a, b) => a - b);
  const say = (places) => {
    field.value = [...new Set(places)].filter((place) => place > 0).sort((a, b) => a - b).join(", ");
    draw();
    refresh(150);
  };

  form.addEventListener("input", (event) => {
    // A new layout needs breaks to begin with.
    refresh(event.target.type === "text" || event.target.type === "number" ? 300 : 0);
  });
  // Enter in a field shows the rows; it does not leave the page.
  form.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && event.target.matches("input:not([type=checkbox]):not([type=radio])")) {
      event.preventDefault();
      refresh(0);
    }
  });
  form.querySelector("button[value=look]").hidden = true;
  // Somebody may have typed before this script was there.
  const isChanged = (field) => field.checked !== undefined && ["checkbox", "radio"].includes(field.type)
    ? field.checked !== field.defaultChecked
    : field.defaultValue !== undefined && field.value !== field.defaultValue;
  if ([...form.elements].some(isChanged)) refresh(0);

  function refresh(wait) {
    clearTimeout(timer);
    look.setAttribute("aria-busy", "true");
    timer = setTimeout(show, wait);
  }

  async function show() {
    const number = ++asked;
    try {
      const body = new URLSearchParams(new FormData(form));
      const answer = await fetch(form.dataset.look, { method: "POST", body, headers: { "X-Fragment": "1" } });
      const text = await answer.text();
      if (number !== asked) return;
      const held = document.activeElement;
      const names = [...look.querySelectorAll("input[name=column]")];
      const at = names.indexOf(held);
      const keys = held && held.classList.contains("keys");
      const sheet = look.querySelector(".strip");
      const left = sheet ? sheet.scrollLeft : 0;
      const selection = at >= 0 ? [held.selectionStart, held.selectionEnd] : null;
      look.innerHTML = text;
      draw();
      const next = look.querySelector(".strip");
      if (next) next.scrollLeft = left;
      if (keys) look.querySelector(".keys")?.focus();
      if (at >= 0) {
        const input = look.querySelectorAll("input[name=column]")[at];
        input?.focus();
        input?.setSelectionRange(...selection);
      }
    } catch {
      if (number === asked) look.replaceChildren(message("The wizard does not answer. Is its program still running?"));
    } finally {
      if (number === asked) look.setAttribute("aria-busy", "false");
    }
  }

  function message(text) {
    const element = document.createElement("p");
    element.className = "message wrong";
    element.textContent = text;
    return element;
  }

  // The ruler: breaks over the lines, and a line of keys above them.
  function draw() {
    const ruler = look.querySelector(".ruler");
    if (!ruler) return;
    if (field.value === "" && ruler.dataset.guessed && !ruler.dataset.seen) field.value = ruler.dataset.guessed;
    ruler.dataset.seen = "1";
    const sheet = ruler.querySelector(".strip");
    const lines = ruler.querySelector(".lines");
    const scale = ruler.querySelector(".scale");
    const width = Math.max(Number(ruler.dataset.width), ...breaks(), 1);
    const probe = document.createElement("span");
    probe.textContent = "0".repeat(100);
    probe.style.position = "absolute";
    probe.style.visibility = "hidden";
    lines.append(probe);
    const place = probe.getBoundingClientRect().width / 100;
    probe.remove();
    const start = parseFloat(getComputedStyle(scale).paddingLeft);
    const left = (at) => `${start + at * place}px`;
    const at = (event) => {
      const box = scale.getBoundingClientRect();
      return Math.min(width, Math.max(0, Math.round((event.clientX - box.left - start) / place)));
    };
    caret = Math.min(caret, width);

    ruler.querySelectorAll(".break, .caret").forEach((element) => element.remove());
    const mark = document.createElement("div");
    mark.className = "caret";
    mark.style.left = left(caret);
    sheet.append(mark);
    for (const found of breaks()) {
      const handle = document.createElement("button");
      handle.type = "button";
      handle.className = "break";
      handle.tabIndex = -1;
      handle.setAttribute("aria-hidden", "true");
      handle.dataset.place = found;
      handle.style.left = left(found);
      handle.style.height = `${scale.offsetHeight + lines.offsetHeight}px`;
      handle.addEventListener("dblclick", () => say(breaks().filter((other) => other !== found)));
      handle.addEventListener("pointerdown", (event) => drag(event, handle, found));
      sheet.append(handle);
    }
    mark.style.height = `${scale.offsetHeight + lines.offsetHeight}px`;

    let keys = ruler.querySelector(".keys");
    if (!keys) {
      keys = document.createElement("div");
      keys.className = "keys";
      keys.tabIndex = 0;
      keys.setAttribute("role", "slider");
      keys.setAttribute("aria-label", "Place on the ruler");
      keys.setAttribute("aria-describedby", "ruler-hint");
      keys.append(document.createElement("b"), document.createElement("span"));
      keys.addEventListener("keydown", (event) => press(event, Math.max(Number(ruler.dataset.width), 1)));
      sheet.before(keys);
    }
    const isBreak = breaks().includes(caret);
    keys.setAttribute("aria-valuemin", "0");
    keys.setAttribute("aria-valuemax", String(width));
    keys.setAttribute("aria-valuenow", String(caret));
    keys.setAttribute("aria-valuetext", isBreak ? `${caret}, a break` : `${caret}`);
    keys.firstChild.textContent = String(caret);
    keys.lastChild.textContent = isBreak ? "a column begins here: Enter removes the break" : "Enter sets a break";

    scale.onclick = lines.onclick = (event) => {
      if (getSelection().toString()) return;
      caret = at(event);
      const near = breaks();
      if (caret > 0 && caret < width && !near.includes(caret)) say([...near, caret]);
      else draw();
    };

    function drag(event, handle, from) {
      event.preventDefault();
      handle.setPointerCapture(event.pointerId);
      handle.classList.add("held");
      let to = from;
      handle.onpointermove = (moved) => {
        to = at(moved);
        handle.style.left = left(to);
      };
      handle.onpointerup = handle.onpointercancel = (ended) => {
        handle.onpointermove = handle.onpointerup = handle.onpointercancel = null;
        if (to === from || ended.type === "pointercancel") {
          handle.style.left = left(from);
          handle.classList.remove("held");
          return;
        }
        caret = to;
        say([...breaks().filter((other) => other !== from), to]);
      };
    }
  }

  function press(event, width) {
    const all = breaks();
    const isBreak = all.includes(caret);
    const step = (by) => {
      const to = Math.min(width, Math.max(0, caret + by));
      if (event.shiftKey && isBreak) {
        if (to > 0 && !all.includes(to)) {
          const from = caret;
          caret = to;
          say([...all.filter((other) => other !== from), to]);
        }
      } else {
        caret = to;
        draw();
      }
    };
    const actions = {
      ArrowLeft: () => step(-1),
      ArrowDown: () => step(-1),
      ArrowRight: () => step(1),
      ArrowUp: () => step(1),
      Home: () => step(-width),
      End: () => step(width),
      PageUp: () => { caret = all.filter((place) => place < caret).pop() ?? 0; draw(); },
      PageDown: () => { caret = all.find((place) => place > caret) ?? width; draw(); },
      Enter: () => say(isBreak ? all.filter((place) => place !== caret) : [...all, caret]),
      " ": () => say(isBreak ? all.filter((place) => place !== caret) : [...all, caret]),
      Delete: () => say(all.filter((place) => place !== caret)),
      Backspace: () => say(all.filter((place) => place !== caret)),
    };
    if (!actions[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    actions[event.key]();
    const mark = look.querySelector(".caret");
    mark?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }

  addEventListener("resize", draw);
  draw();

  // Types: what has been found so far, until everything has.
  async function follow(target) {
    for (;;) {
      await new Promise((done) => setTimeout(done, 400));
      try {
        const answer = await fetch("/format/types/found", { headers: { "X-Fragment": "1" } });
        const text = await answer.text();
        const stop = target.querySelector("button");
        const isHeld = stop && stop === document.activeElement;
        target.innerHTML = text;
        if (isHeld) target.querySelector("button")?.focus();
      } catch {
        return;
      }
      if (!target.querySelector("[data-reading]")) return;
    }
  }
})();
