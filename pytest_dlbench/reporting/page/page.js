/* Filters, charts, tables and downloads of the report. Text from records is only ever inserted as text, never as HTML or code. */
"use strict";
(() => {
  const AXES = ["framework", "model", "dataset", "device", "outcome"];
  const MOST_DRAWN = 30;
  const MOST_ROWS = 1000;
  const LEGEND_LINE = 17;
  const read = (element) => JSON.parse(element.textContent);
  const themes = read(document.getElementById("themes"));
  const cases = read(document.getElementById("case-data")).rows;
  const chosen = Object.fromEntries(AXES.map((axis) => [axis, new Set()]));
  let contains = "";

  const make = (name, text, attributes = {}) => {
    const element = document.createElement(name);
    if (text !== undefined) element.textContent = text;
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    return element;
  };
  const distinct = (values) => [...new Set(values)];
  const shown = (value) => {
    if (value === null || value === undefined) return "–";
    if (typeof value !== "number" || Number.isInteger(value)) return String(value);
    return Number(value.toPrecision(4)).toLocaleString("en", { maximumSignificantDigits: 4 });
  };

  /* A row passes unless its value on some axis is not among those chosen there. */
  const passes = (row) =>
    AXES.every((axis) => !chosen[axis].size || !(axis in row) || chosen[axis].has(row[axis])) &&
    (!contains || !("cell" in row) || String(row.case).toLowerCase().includes(contains));

  const isDark = () => {
    const asked = document.documentElement.dataset.theme;
    return asked ? asked === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  };

  /* Legends list what is drawn; the colours stay those of all values, under every filter. */
  const withShownLegends = (part, rows) => {
    if (Array.isArray(part)) return part.map((one) => withShownLegends(one, rows));
    if (part === null || typeof part !== "object") return part;
    const domain = part.scale?.domain;
    if (domain && part.type === "nominal" && part.legend !== null && rows.length && part.field in rows[0]) {
      const there = new Set(rows.map((row) => row[part.field]));
      return { ...part, legend: { ...part.legend, values: domain.filter((value) => there.has(value)) } };
    }
    return Object.fromEntries(
      Object.entries(part).map(([name, value]) => [name, name === "datasets" ? value : withShownLegends(value, rows)]),
    );
  };

  /* Small pictures side by side, as many as fit. */
  const SMALL = 165;
  const sideBySide = (picture, width) => {
    const columns = Math.max(1, Math.floor(width / SMALL));
    /* The axis of the first column takes some of the width, the gaps some more. */
    return { columns, spec: { ...picture.spec, width: Math.floor((width - 88 - 14 * (columns - 1)) / columns) } };
  };

  /* In pixels: Vega-Lite does not combine a width that fits with a height by steps. A long legend adds its lines,
     because it would otherwise leave no room for the plot. */
  const heightOf = (picture, rows, legendColumns) => {
    const encodings = [picture, ...(picture.layer ?? [])].map((part) => part.encoding);
    if (!picture.height.step) {
      const entries = Math.max(1, ...encodings.map((encoding) => encoding?.color?.legend?.values?.length ?? 1));
      return picture.height + LEGEND_LINE * (Math.ceil(entries / legendColumns) - 1);
    }
    const { y, yOffset } = encodings.find((encoding) => encoding?.y?.type === "nominal");
    const count = (channel) => (channel ? distinct(rows.map((row) => row[channel.field])).length : 1);
    return picture.height.step * count(y) * count(yOffset);
  };

  class Chart {
    constructor(section) {
      this.section = section;
      this.picture = section.querySelector(".picture");
      this.select = section.querySelector("select");
      this.more = section.querySelector(".more");
      this.table = section.querySelector(".figures");
      this.isAll = false;
      this.isStale = true;
      this.isNear = false;
      this.table.addEventListener("toggle", () => this.fillTable());
      if (this.select) this.select.addEventListener("change", () => this.refresh());
      for (const button of section.querySelectorAll("[data-save]"))
        button.addEventListener("click", () => this.save(button.dataset.save));
    }

    /* Parsed when first needed: a page of 500 cases must open at once. */
    get data() {
      this._data ??= read(this.section.querySelector(".data"));
      return this._data;
    }

    get all() {
      if (!this._all) {
        const columns = Object.keys(this.data.columns);
        this._all = this.data.rows.map((values) => {
          const row = Object.fromEntries(columns.map((column, index) => [column, values[index]]));
          return "case" in row ? { ...cases[row.case], ...row, case: cases[row.case].case } : row;
        });
      }
      return this._all;
    }

    /* The rows that pass the filters and the choice. */
    rows() {
      const rows = this.all.filter(passes);
      if (!this.data.choose) return rows;
      const values = distinct(rows.map((row) => row[this.data.choose]));
      const before = this.select.value;
      this.select.replaceChildren(...values.map((value) => make("option", value, { value })));
      if (values.includes(before)) this.select.value = before;
      return rows.filter((row) => row[this.data.choose] === this.select.value);
    }

    refresh() {
      this.isStale = true;
      this.section.dataset.state = "stale";
      if (this.isNear) this.draw();
      if (this.table.open) this.fillTable();
    }

    limited(rows) {
      const column = this.data.limit;
      const values = column ? distinct(rows.map((row) => row[column])) : [];
      const isCut = values.length > MOST_DRAWN;
      this.more.hidden = !isCut;
      if (!isCut) return rows;
      const extent = this.isAll ? `all ${values.length}` : `the first ${MOST_DRAWN} of ${values.length}`;
      const button = make("button", this.isAll ? "Show fewer" : "Show all", { type: "button" });
      button.addEventListener("click", () => {
        this.isAll = !this.isAll;
        this.refresh();
      });
      this.more.replaceChildren(`Showing ${extent}; use the filters to narrow them. `, button);
      const kept = new Set(values.slice(0, MOST_DRAWN));
      return this.isAll ? rows : rows.filter((row) => kept.has(row[column]));
    }

    async draw() {
      if (!this.picture || !this.isStale) return;
      this.isStale = false;
      const rows = this.limited(this.rows());
      this.section.classList.toggle("empty", !rows.length);
      if (this.embedded) this.embedded.finalize();
      this.embedded = undefined;
      this.section.dataset.rows = rows.length;
      if (!rows.length) {
        this.picture.replaceChildren(make("p", "No case matches the filters.", { class: "more" }));
        this.section.dataset.state = "drawn";
        return;
      }
      const width = this.picture.clientWidth;
      const theme = themes[isDark() ? "dark" : "light"];
      const legendColumns = Math.max(1, Math.floor(width / 150));
      const config = {
        ...theme,
        aria: false,
        axis: { ...theme.axis, labelLimit: width * 0.42 },
        axisX: { tickCount: Math.max(3, Math.floor(width / 120)) },
        legend: { ...theme.legend, columns: legendColumns },
      };
      /* On a narrow page the label limit of the page overrides that of the chart. */
      const whole = JSON.parse(JSON.stringify(this.data.picture), (key, value) =>
        key === "labelLimit" ? Math.min(value, width * 0.42) : value,
      );
      const picture = withShownLegends(whole, rows);
      const size = picture.facet ? sideBySide(picture, width) : { height: heightOf(picture, rows, legendColumns) };
      const specification = { ...picture, ...size, datasets: { ...picture.datasets, rows } };
      const options = { mode: "vega-lite", ast: true, actions: false, renderer: "svg", config };
      this.embedded = await vegaEmbed(this.picture, specification, options);
      if (!this.isStale) this.section.dataset.state = "drawn";
    }

    fillTable() {
      if (!this.table.open) return;
      const rows = this.rows();
      const columns = Object.entries(this.data.columns);
      const isText = (name) => rows.some((row) => typeof row[name] === "string");
      const kinds = columns.map(([name]) => (isText(name) ? { class: "text" } : {}));
      const table = make("table");
      const cut = rows.length > MOST_ROWS ? `, the first ${MOST_ROWS}; the download has all` : "";
      table.append(make("caption", `${rows.length} rows${cut}`));
      const head = table.createTHead().insertRow();
      columns.forEach(([, heading], at) => head.append(make("th", heading, { scope: "col", ...kinds[at] })));
      const body = table.createTBody();
      for (const row of rows.slice(0, MOST_ROWS)) {
        const line = body.insertRow();
        columns.forEach(([name], at) => line.append(make("td", shown(row[name]), kinds[at])));
      }
      const box = this.table.querySelector(".scroll");
      box.replaceChildren(table);
      markEdges(box);
    }

    async save(kind) {
      const rows = this.rows();
      if (kind === "json") return this.offer(JSON.stringify(rows, null, 1), "application/json", kind);
      if (kind === "csv") return this.offer(csv(Object.keys(this.data.columns), rows), "text/csv", kind);
      this.isNear = true;
      await this.draw();
      if (!this.embedded) return undefined;
      this.embedded.view.background(getComputedStyle(this.section).backgroundColor);
      if (kind === "svg") return this.offer(await this.embedded.view.toSVG(), "image/svg+xml", kind);
      const canvas = await this.embedded.view.toCanvas(2);
      return canvas.toBlob((blob) => this.offer(blob, "image/png", kind));
    }

    offer(content, type, kind) {
      const link = make("a", undefined, { download: `${this.data.name}.${kind}` });
      link.href = URL.createObjectURL(new Blob([content], { type }));
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 10000);
    }
  }

  /* Text that a spreadsheet would take for a formula is quoted. */
  const csv = (columns, rows) => {
    const cell = (value) => {
      if (typeof value !== "string") return value ?? "";
      const text = /^ *[=+\-@\uFF1D\uFF0B\uFF0D\uFF20]/.test(value) ? `'${value}` : value;
      return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
    };
    return [columns, ...rows.map((row) => columns.map((name) => row[name]))]
      .map((line) => line.map(cell).join(","))
      .join("\n");
  };

  /* Which sides of a table are cut off. */
  const markEdges = (box) => {
    const rest = box.scrollWidth - box.clientWidth - box.scrollLeft;
    box.classList.toggle("more-left", box.scrollLeft > 1);
    box.classList.toggle("more-right", rest > 1);
    const isCut = box.scrollWidth > box.clientWidth + 1;
    let hint = box.nextElementSibling;
    if (!hint?.classList.contains("further")) {
      hint = make("p", "More columns to the side: scroll, or use the arrow keys.", { class: "further" });
      box.after(hint);
    }
    hint.hidden = !isCut;
  };
  const edges = new ResizeObserver((entries) => entries.forEach((entry) => markEdges(entry.target)));
  for (const box of document.querySelectorAll(".scroll")) {
    edges.observe(box);
    box.addEventListener("scroll", () => markEdges(box), { passive: true });
  }

  const charts = [...document.querySelectorAll("section.chart")].map((section) => new Chart(section));
  const byElement = new Map(charts.map((chart) => [chart.section, chart]));
  const watcher = new IntersectionObserver(
    (entries) => {
      const drawn = entries.map((entry) => {
        const chart = byElement.get(entry.target);
        chart.isNear = entry.isIntersecting;
        return entry.isIntersecting ? chart.draw() : undefined;
      });
      /* The benchmarks of the page measure until this mark. */
      Promise.all(drawn).then(() => performance.mark("charts-drawn"));
    },
    { rootMargin: "400px" },
  );
  charts.forEach((chart) => watcher.observe(chart.section));

  const filter = () => {
    const kept = cases.map(passes);
    for (const element of document.querySelectorAll("[data-case]")) element.hidden = !kept[element.dataset.case];
    /* The baseline side of a pair is no case of its own. */
    const judged = cases.map((row) => row.outcome !== "baseline");
    const count = kept.filter((isKept, at) => isKept && judged[at]).length;
    document.getElementById("count").textContent = `${count} of ${judged.filter(Boolean).length} cases`;
    charts.forEach((chart) => chart.refresh());
  };

  const axes = document.querySelector(".axes");
  const nameAxis = (details, axis) => {
    const size = chosen[axis].size;
    details.classList.toggle("chosen", size > 0);
    details.querySelector("summary").textContent = size ? `${axis} (${size})` : axis;
  };
  for (const axis of AXES) {
    const values = distinct(cases.map((row) => row[axis])).sort();
    if (values.length < 2) continue;
    const details = make("details", undefined, { class: "axis", name: "axis", "data-axis": axis });
    const box = make("div", undefined, { class: "values", role: "group", "aria-label": axis });
    for (const value of values) {
      const input = make("input", undefined, { type: "checkbox", value });
      input.addEventListener("change", () => {
        if (input.checked) chosen[axis].add(value);
        else chosen[axis].delete(value);
        nameAxis(details, axis);
        filter();
      });
      const label = make("label");
      label.append(input, axis === "outcome" ? value.replaceAll("_", " ") : value);
      box.append(label);
    }
    details.append(make("summary", axis), box);
    details.addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      details.open = false;
      details.querySelector("summary").focus();
    });
    axes.append(details);
  }
  document.addEventListener("click", (event) => {
    for (const details of axes.children) if (!details.contains(event.target)) details.open = false;
  });

  let pause;
  const search = document.getElementById("search");
  search.addEventListener("input", () => {
    clearTimeout(pause);
    pause = setTimeout(() => {
      contains = search.value.trim().toLowerCase();
      filter();
    }, 150);
  });
  const form = document.getElementById("filters");
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => {
    contains = "";
    for (const details of axes.children) {
      chosen[details.dataset.axis].clear();
      nameAxis(details, details.dataset.axis);
    }
    filter();
  });

  const theme = document.getElementById("theme");
  const redraw = () => {
    theme.textContent = isDark() ? "Light" : "Dark";
    charts.forEach((chart) => chart.refresh());
  };
  theme.addEventListener("click", () => {
    document.documentElement.dataset.theme = isDark() ? "light" : "dark";
    redraw();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  let width = innerWidth;
  let resized;
  addEventListener("resize", () => {
    if (innerWidth === width) return;
    width = innerWidth;
    clearTimeout(resized);
    resized = setTimeout(redraw, 200);
  });

  redraw();
  filter();
})();
