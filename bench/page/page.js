// Draws the history that is in the page. Words of the data become text nodes, never markup.
"use strict";
(function () {
  const data = JSON.parse(document.getElementById("data").textContent);
  const byId = (id) => document.getElementById(id);
  const CHART_HEIGHT = 178,
    WHISKERS_MAX = 60,
    Y_SPAN_MIN = 0.04,
    ZERO_BASED = new Set(["loss"]);
  const ARROW = { less: "↓ less is better", more: "↑ more is better", none: "" };

  function element(name, attributes, ...children) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes || {})) made.setAttribute(key, value);
    made.append(...children.filter((child) => child !== null && child !== undefined));
    return made;
  }

  const colour = (name) =>
    getComputedStyle(document.documentElement)
      .getPropertyValue("--" + name)
      .trim();

  function told(value) {
    if (value === null) return "–";
    if (value === 0) return "0";
    const places = Math.min(9, Math.max(0, 2 - Math.floor(Math.log10(Math.abs(value)))));
    return value.toLocaleString("en", { maximumFractionDigits: places });
  }

  const share = (change) =>
    change.before === 0
      ? "from 0"
      : (change.after >= change.before ? "+" : "−") + told(Math.abs(100 * (change.after / change.before - 1))) + " %";

  // What a change is told as: by whom, and for better or worse.
  const kindOf = (change) =>
    change.kind === "host" ? "host" : change.worse === null ? "line" : change.worse ? "worse" : "better";

  const machineName = (index) => {
    const { cpu, compiler, runner } = data.machines[index];
    return cpu + ", " + compiler + ", " + runner;
  };

  // --- A panel's chart. ---------------------------------------------------------------------------------------

  // All panels have all places on x, so that the same place is the same commit; where nothing was measured is null.
  function columns(series) {
    const column = (values) => {
      const all = new Array(data.places.length).fill(null);
      series.place.forEach((place, n) => {
        all[place] = values[n];
      });
      return all;
    };
    const low = series.value.map((value, n) => (series.lo[n] === null ? value : series.lo[n]));
    const high = series.value.map((value, n) => (series.hi[n] === null ? value : series.hi[n]));
    return [data.places.map((place) => place.x), column(series.value), column(low), column(high)];
  }

  // At least a few percent high, so that noise does not look like news.
  function yRange(series) {
    return (u, least, greatest) => {
      if (least === null || greatest === null) return [0, 1];
      const middle = (least + greatest) / 2;
      if (least === 0 && greatest === 0) return [0, 1];
      const half = Math.max((greatest - least) / 2, (Math.abs(middle) * Y_SPAN_MIN) / 2) * 1.12;
      return [ZERO_BASED.has(series.metric) ? Math.min(0, least) : middle - half, middle + half];
    };
  }

  // Of one commit, uPlot makes a range of its own.
  function xRange(u, least, greatest) {
    return data.places.length > 1 ? [least - 0.6, greatest + 0.6] : [-0.6, 0.6];
  }

  function xSplits(u, axis, least, greatest) {
    const first = Math.max(0, Math.ceil(least)),
      last = Math.min(data.commits.length - 1, Math.floor(greatest));
    const step = Math.max(
      1,
      Math.ceil((last - first + 1) / Math.max(1, Math.floor(u.bbox.width / devicePixelRatio / 78))),
    );
    const splits = [];
    for (let at = first; at <= last; at += step) splits.push(at);
    return splits;
  }

  function drawWhiskers(u, series) {
    const shown = series.place.filter(
      (place) => data.places[place].x >= u.scales.x.min && data.places[place].x <= u.scales.x.max,
    );
    if (shown.length > WHISKERS_MAX) return;
    u.ctx.strokeStyle = colour("line");
    u.ctx.globalAlpha = 0.45;
    u.ctx.lineWidth = devicePixelRatio;
    for (const place of shown) {
      const x = u.valToPos(u.data[0][place], "x", true);
      u.ctx.beginPath();
      u.ctx.moveTo(x, u.valToPos(u.data[2][place], "y", true));
      u.ctx.lineTo(x, u.valToPos(u.data[3][place], "y", true));
      u.ctx.stroke();
    }
    u.ctx.globalAlpha = 1;
  }

  function drawChange(u, series, number) {
    const change = series.changes[number],
      ratio = devicePixelRatio,
      { left, top, width, height } = u.bbox;
    const placeOf = (n) => u.valToPos(data.places[series.place[n]].x, "x", true);
    const x = placeOf(change.at);
    const start = number ? placeOf(series.changes[number - 1].at) : placeOf(0);
    const end =
      number + 1 < series.changes.length ? placeOf(series.changes[number + 1].at) : placeOf(series.place.length - 1);
    const mark = colour(kindOf(change));
    u.ctx.strokeStyle = u.ctx.fillStyle = mark;
    u.ctx.lineWidth = 1.5 * ratio;
    u.ctx.setLineDash(
      change.kind === "host" ? [2 * ratio, 3 * ratio] : change.kind === "drift" ? [7 * ratio, 4 * ratio] : [],
    );
    u.ctx.beginPath();
    u.ctx.moveTo(x, top);
    u.ctx.lineTo(x, top + height);
    u.ctx.stroke();
    u.ctx.setLineDash([5 * ratio, 4 * ratio]);
    u.ctx.lineWidth = ratio;
    for (const [from, to, level] of [
      [start, x, change.before],
      [x, end, change.after],
    ]) {
      const y = u.valToPos(level, "y", true);
      u.ctx.beginPath();
      u.ctx.moveTo(from, y);
      u.ctx.lineTo(to, y);
      u.ctx.stroke();
    }
    u.ctx.setLineDash([]);
    u.ctx.font = "600 " + 12 * ratio + "px system-ui, sans-serif";
    const isRight = x > left + 0.75 * width;
    u.ctx.textAlign = isRight ? "right" : "left";
    u.ctx.textBaseline = "top";
    u.ctx.fillText(share(change), x + (isRight ? -4 : 4) * ratio, top + (2 + 15 * (number % 2)) * ratio);
  }

  function draw(panel) {
    const { series } = panel;
    const axis = {
      stroke: () => colour("faint"),
      grid: { stroke: () => colour("grid"), width: 1 },
      ticks: { stroke: () => colour("grid"), width: 1, size: 4 },
      font: "11px system-ui, sans-serif",
    };
    panel.chart = new uPlot(
      {
        width: panel.box.clientWidth || 380,
        height: CHART_HEIGHT,
        legend: { show: false },
        padding: [6, 10, 0, 0],
        cursor: { y: false, sync: { key: "commit" }, points: { show: false } },
        scales: { x: { time: false, range: xRange }, y: { range: yRange(series) } },
        axes: [
          {
            ...axis,
            size: 26,
            splits: xSplits,
            values: (u, splits) => splits.map((at) => (data.commits[at] || { name: "" }).name.slice(0, 7)),
          },
          {
            ...axis,
            size: 60,
            label: series.unit,
            labelSize: 18,
            labelFont: "11px system-ui, sans-serif",
            values: (u, splits) => splits.map(told),
          },
        ],
        series: [
          {},
          {
            stroke: () => colour("line"),
            width: 1.5,
            spanGaps: true,
            points: { show: true, size: series.place.length > WHISKERS_MAX ? 3 : 5, fill: () => colour("line") },
          },
          { stroke: "transparent", spanGaps: true, points: { show: false } },
          { stroke: "transparent", spanGaps: true, points: { show: false } },
        ],
        bands: [{ series: [3, 2], fill: () => colour("band") }],
        hooks: {
          draw: [
            (u) => {
              drawWhiskers(u, series);
              series.changes.forEach((change, n) => drawChange(u, series, n));
            },
          ],
          setCursor: [
            (u) => {
              if (panel === hovered) hover(panel, nearest(series, u.cursor.idx));
            },
          ],
        },
      },
      columns(series),
      panel.box,
    );
    panel.chart.over.addEventListener("mouseenter", () => {
      hovered = panel;
    });
    panel.chart.over.addEventListener("mouseleave", () => {
      hovered = null;
      byId("tip").hidden = true;
    });
  }

  // --- What is told where the pointer is. -----------------------------------------------------------------------

  let hovered = null;
  const pointer = { x: 0, y: 0 };

  function nearest(series, place) {
    if (place === null || place === undefined) return null;
    let best = 0;
    series.place.forEach((one, n) => {
      if (Math.abs(one - place) < Math.abs(series.place[best] - place)) best = n;
    });
    return best;
  }

  function tipRows(series, n) {
    const commit = data.commits[data.places[series.place[n]].commit],
      machine = data.machines[series.machine];
    const spread =
      series.lo[n] === null || series.lo[n] === series.hi[n]
        ? null
        : told(series.lo[n]) + " to " + told(series.hi[n]);
    const change = series.changes.find((one) => one.at === n);
    const textOf = (texts) => (texts[n] === null ? null : data.texts[texts[n]]);
    return [
      ["commit", series.commit[n] + (commit.subject ? ": " + commit.subject : "")],
      ["date", series.date[n].replace("T", " ").replace("Z", " UTC")],
      ["spread", spread && spread + " " + series.unit + " of " + series.n[n]],
      [
        "change",
        change &&
          share(change) + (change.kind === "drift" ? ", a drift" : "") + (change.why ? ": " + change.why : ""),
      ],
      ["processor", machine.cpu],
      ["compiler", machine.compiler],
      ["kernel", textOf(series.kernel)],
      ["runner", machine.runner],
      ["clock", textOf(series.clock)],
      ["governor", textOf(series.governor)],
      ["load", textOf(series.load)],
      ["calibration", series.cal[n] === null ? null : told(series.cal[n]) + " ns"],
      ["measured by", textOf(series.tool)],
    ].filter((row) => row[1]);
  }

  function hover(panel, n) {
    const tip = byId("tip"),
      { series } = panel;
    tip.hidden = n === null;
    if (n === null) return;
    const rows = tipRows(series, n).map(([name, value]) =>
      element("tr", {}, element("th", {}, name), element("td", {}, value)),
    );
    tip.replaceChildren(element("b", {}, told(series.value[n]) + " " + series.unit), element("table", {}, ...rows));
    const box = tip.getBoundingClientRect();
    const x = pointer.x + 18 + box.width > innerWidth ? pointer.x - box.width - 18 : pointer.x + 18;
    tip.style.left = Math.max(4, x) + "px";
    tip.style.top = Math.max(4, Math.min(pointer.y + 14, innerHeight - box.height - 6)) + "px";
  }

  addEventListener(
    "mousemove",
    (event) => {
      pointer.x = event.clientX;
      pointer.y = event.clientY;
    },
    { capture: true, passive: true },
  );

  // --- Panels, suites, filters. ----------------------------------------------------------------------------------

  const seen = new IntersectionObserver(
    (entries) => {
      for (const entry of entries) {
        const panel = panels[Number(entry.target.dataset.number)];
        if (entry.isIntersecting && !panel.chart) draw(panel);
      }
    },
    { rootMargin: "500px" },
  );

  function makePanel(series, number) {
    const last = series.value.length - 1,
      box = element("div", { class: "chart" });
    const root = element(
      "article",
      { class: "panel", "data-number": number, "aria-label": series.bench + " " + series.metric },
      element("h3", {}, series.bench),
      element(
        "div",
        { class: "sub" },
        element("span", {}, series.metric.replaceAll("_", " ") + "  " + ARROW[series.better]),
        element("b", {}, told(series.value[last]) + " " + series.unit),
      ),
      data.machines.length > 1 ? element("div", { class: "machine" }, machineName(series.machine)) : null,
      box,
    );
    seen.observe(root);
    const words = [series.bench, series.metric, series.suite, machineName(series.machine)].join(" ").toLowerCase();
    return { series, root, box, words, chart: null };
  }

  function makeSuites() {
    const suites = [];
    for (const panel of panels) {
      let suite = suites.find((one) => one.name === panel.series.suite);
      if (!suite) {
        suite = {
          name: panel.series.suite,
          count: element("small"),
          grid: element("div", { class: "grid" }),
          panels: [],
        };
        suite.root = element("section", {}, element("h2", {}, suite.name, suite.count), suite.grid);
        byId("suites").append(suite.root);
        suites.push(suite);
      }
      suite.panels.push(panel);
      suite.grid.append(panel.root);
    }
    return suites;
  }

  function options(select, all, entries) {
    select.append(
      element("option", { value: "" }, all),
      ...entries.map(([value, text]) => element("option", { value }, text)),
    );
    if (entries.length < 2) select.closest("label").hidden = true;
  }

  function filter() {
    const words = byId("words").value.toLowerCase().split(/\s+/).filter(Boolean);
    const metric = byId("metric").value,
      machine = byId("machine").value,
      changed = byId("changed").checked;
    let count = 0;
    for (const suite of suites) {
      let shown = 0;
      for (const { root, words: own, series } of suite.panels) {
        root.hidden = !(
          words.every((word) => own.includes(word)) &&
          (!metric || series.metric === metric) &&
          (!machine || String(series.machine) === machine) &&
          (!changed || series.changes.length > 0)
        );
        shown += root.hidden ? 0 : 1;
      }
      suite.count.textContent =
        shown === suite.panels.length ? shown + " series" : shown + " of " + suite.panels.length + " series";
      suite.root.hidden = shown === 0;
      count += shown;
    }
    byId("nothing").hidden = count > 0 || panels.length === 0;
    try {
      history.replaceState(null, "", words.length ? "#" + encodeURIComponent(words.join(" ")) : "#");
    } catch (error) {
      /* file: */
    }
  }

  function show(panel) {
    byId("words").value = "";
    byId("metric").value = byId("machine").value = "";
    filter();
    panels.forEach((one) => one.root.classList.toggle("found", one === panel));
    panel.root.scrollIntoView({ block: "center" });
  }

  function makeChanges() {
    const found = panels.flatMap((panel) => panel.series.changes.map((change) => ({ panel, change })));
    const last = (one) => data.places[one.panel.series.place[one.change.at]].x;
    const rank = (one) => ["worse", "better", "line", "host"].indexOf(kindOf(one.change));
    found.sort((one, other) => rank(one) - rank(other) || last(other) - last(one));
    const heading = found.length
      ? "Changes of level"
      : panels.length
        ? "No change of level in these commits"
        : "There is no history yet";
    const items = found.map(({ panel, change }) => {
      const { series } = panel,
        commit = data.commits[data.places[series.place[change.at]].commit];
      const where =
        change.kind === "host"
          ? "the machine's: " + change.why
          : (change.kind === "drift" ? "a drift around " : "") +
            commit.name.slice(0, 7) +
            " " +
            (commit.subject || "");
      const item = element(
        "button",
        { type: "button" },
        element("span", { class: "share " + kindOf(change) + "-text" }, share(change)),
        element(
          "span",
          { class: "what" },
          series.bench + " " + series.metric.replaceAll("_", " "),
          data.machines.length > 1 ? element("small", {}, data.machines[series.machine].cpu) : null,
        ),
        element("span", { class: "commit", title: where }, where),
      );
      item.addEventListener("click", () => show(panel));
      return element("li", {}, item);
    });
    byId("changes").append(
      element("h2", {}, heading, element("small", {}, found.length ? String(found.length) : "")),
    );
    if (panels.length === 0) byId("changes").append(element("p", {}, "./dev bench record adds points to it."));
    byId("changes").append(element("ul", {}, ...items.slice(0, 12)));
    if (items.length > 12)
      byId("changes").append(
        element(
          "details",
          {},
          element("summary", {}, items.length - 12 + " more"),
          element("ul", {}, ...items.slice(12)),
        ),
      );
  }

  function redraw() {
    for (const { chart, box } of panels) {
      if (!chart) continue;
      if (box.clientWidth) chart.setSize({ width: box.clientWidth, height: CHART_HEIGHT });
      chart.redraw(false, true);
    }
  }

  const systemTheme = matchMedia("(prefers-color-scheme: dark)");

  function setTheme(isDark) {
    document.documentElement.dataset.theme = isDark ? "dark" : "light";
    redraw();
  }

  function switchTheme() {
    setTheme(document.documentElement.dataset.theme !== "dark");
  }

  const panels = data.series.map(makePanel);
  const suites = makeSuites();
  const metrics = [...new Set(data.series.map((series) => series.metric))].sort();
  options(
    byId("metric"),
    "all metrics",
    metrics.map((name) => [name, name.replaceAll("_", " ")]),
  );
  options(
    byId("machine"),
    "all machines",
    data.machines.map((machine, index) => [String(index), machineName(index)]),
  );
  byId("about").textContent = data.about;
  makeChanges();
  try {
    byId("words").value = decodeURIComponent(location.hash.slice(1));
  } catch (error) {
    /* not ours */
  }
  filter();
  for (const id of ["words", "metric", "machine", "changed"]) byId(id).addEventListener("input", filter);
  byId("filters").addEventListener("submit", (event) => event.preventDefault());
  byId("theme").addEventListener("click", switchTheme);
  setTheme(systemTheme.matches);
  systemTheme.addEventListener("change", (event) => setTheme(event.matches));
  addEventListener("resize", redraw);

  // For tests: what a person does with the pointer.
  window.weirPage = {
    panels,
    drawAll: () => panels.forEach((panel) => panel.chart || draw(panel)),
    hover,
    switchTheme,
  };
})();
