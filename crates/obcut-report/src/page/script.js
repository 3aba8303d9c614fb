"use strict";
(() => {
  const tip = document.getElementById("tip");
  const all = (root, what) => Array.from(root.querySelectorAll(what));

  // A text beside a place of the window, kept inside of it. Text only: nothing in it is markup.
  function show(text, x, y) {
    tip.textContent = text;
    tip.hidden = false;
    const box = tip.getBoundingClientRect();
    const wide = document.documentElement.clientWidth;
    const left = x + 14 + box.width > wide ? x - 14 - box.width : x + 14;
    const top = y - 12 - box.height < 0 ? y + 18 : y - 12 - box.height;
    tip.style.left = Math.max(4, Math.min(left, wide - box.width - 4)) + "px";
    tip.style.top = top + "px";
  }
  function hide() {
    tip.hidden = true;
    all(document, ".ring").forEach((ring) => ring.remove());
  }

  // Bars and cells say their text.
  function say(event) {
    const target = event.target.closest ? event.target.closest("[data-tip]") : null;
    if (target) show(target.dataset.tip, event.clientX, event.clientY);
    else if (!event.target.closest || !event.target.closest("[data-hover]")) hide();
  }
  document.addEventListener("pointermove", say);
  document.addEventListener("pointerdown", say);
  document.addEventListener("scroll", hide, { passive: true });

  // Points: the nearest one that is switched on.
  all(document, "[data-hover]").forEach((svg) => {
    const spots = JSON.parse(svg.nextElementSibling.textContent);
    const figure = svg.closest("figure");
    let at = -1;
    const isOn = (i) => {
      const group = svg.querySelector('g[data-series="' + spots.series[i] + '"]');
      return group && !group.classList.contains("off");
    };
    const words = (i) => spots.text
      ? spots.text[i]
      : spots.fields.map((field) => field.name + ": " + field.values[i]).join("\n");
    function point(i) {
      at = i;
      all(document, ".ring").forEach((ring) => ring.remove());
      const ring = document.createElementNS(svg.namespaceURI, "circle");
      ring.setAttribute("class", "ring");
      ring.setAttribute("cx", spots.x[i]);
      ring.setAttribute("cy", spots.y[i]);
      ring.setAttribute("r", 5);
      svg.append(ring);
      const box = ring.getBoundingClientRect();
      show(words(i), box.left + box.width / 2, box.top + box.height / 2);
    }
    function near(event) {
      const matrix = svg.getScreenCTM();
      if (!matrix) return;
      const place = new DOMPoint(event.clientX, event.clientY).matrixTransform(matrix.inverse());
      let best = -1, least = 14 * 14;
      const on = new Map();
      for (let i = 0; i < spots.x.length; i++) {
        const dx = spots.x[i] - place.x, dy = spots.y[i] - place.y, far = dx * dx + dy * dy;
        if (far >= least) continue;
        const series = spots.series[i];
        if (!on.has(series)) on.set(series, isOn(i));
        if (on.get(series)) { best = i; least = far; }
      }
      if (best < 0) hide(); else point(best);
    }
    svg.addEventListener("pointermove", near);
    svg.addEventListener("pointerdown", near);
    svg.addEventListener("pointerleave", hide);
    svg.addEventListener("blur", hide);
    svg.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      if (event.key === "Escape") hide();
      if (!step) return;
      event.preventDefault();
      const n = spots.x.length;
      for (let k = 1; k <= n; k++) {
        const i = (((at < 0 && step < 0 ? 0 : at) + step * k) % n + n) % n;
        if (isOn(i)) return point(i);
      }
    });
    figure.addEventListener("legend", hide);
  });

  // Legends switch series on and off.
  function turn(button, on) {
    const figure = button.closest("figure");
    button.setAttribute("aria-pressed", on);
    all(figure, 'g[data-series="' + button.dataset.series + '"]').forEach((group) => group.classList.toggle("off", !on));
    figure.dispatchEvent(new Event("legend"));
  }
  all(document, ".legend button[data-series]").forEach((button) => {
    button.addEventListener("click", () => turn(button, button.getAttribute("aria-pressed") !== "true"));
  });
  all(document, "button[data-all]").forEach((button) => {
    button.addEventListener("click", () => {
      all(button.closest(".legend"), "button[data-series]").forEach((other) => turn(other, button.dataset.all === "true"));
    });
  });

  // Linear and logarithmic axes.
  all(document, "button[data-view]").forEach((button) => {
    button.addEventListener("click", () => {
      const figure = button.closest("figure"), view = button.dataset.view;
      all(figure, "button[data-view]").forEach((b) => b.setAttribute("aria-pressed", b === button));
      all(figure, "svg[data-view]").forEach((svg) => svg.toggleAttribute("hidden", svg.dataset.view !== view));
      hide();
    });
  });

  // Tables sort by a column: numbers by size, words by letter, empty cells last.
  all(document, "table.sortable th button").forEach((button) => {
    button.addEventListener("click", () => {
      const head = button.closest("th"), table = button.closest("table"), body = table.tBodies[0];
      const column = head.cellIndex, isNumber = head.classList.contains("n");
      const was = head.getAttribute("aria-sort");
      const down = was === "none" ? isNumber : was === "ascending";
      all(table, "th").forEach((th) => th.setAttribute("aria-sort", "none"));
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const key = (row) => {
        const cell = row.cells[column];
        return cell.dataset.key !== undefined ? Number(cell.dataset.key) : cell.textContent;
      };
      const sign = down ? -1 : 1;
      const rows = Array.from(body.rows).map((row) => [row, key(row)]);
      rows.sort(([, a], [, b]) => {
        const numberA = typeof a === "number", numberB = typeof b === "number";
        if (numberA !== numberB) return numberA ? -1 : 1;
        if (numberA) return sign * (a - b);
        return sign * a.localeCompare(b, undefined, { numeric: true });
      });
      body.append(...rows.map(([row]) => row));
    });
  });

  // What is folded away is printed all the same.
  addEventListener("beforeprint", () => all(document, "details").forEach((d) => { d.open = true; }));
})();
