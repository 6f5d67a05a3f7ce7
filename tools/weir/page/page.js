// The page of a heap: a treemap, a table of types, and ways from roots. heap_page.c writes the data.
"use strict";
{
  const ROWS = 300; // of the table at once
  const data = JSON.parse(document.getElementById("data").textContent);
  const by = (id) => document.getElementById(id);
  const number = new Intl.NumberFormat("en");
  const make = (tag, text, more) => Object.assign(document.createElement(tag), { textContent: text ?? "" }, more);
  const types = data.types.map(([name, module, count, bytes, retained, way], index) => ({ index, name, module, count, bytes, retained, way }));
  const last = (path) => path.replace(/.*[/\\]/, "");
  const title = (type) => type.module ? `${type.name} [${last(type.module)}]` : type.name;
  const bytes = (value) => {
    const units = ["B", "KB", "MB", "GB", "TB"];
    let unit = 0;
    for (; value >= 1000 && unit < units.length - 1; unit++) value /= 1000;
    return `${unit ? value.toPrecision(3) : value} ${units[unit]}`;
  };
  const share = (value) => `${(100 * value / Math.max(data.bytes, 1)).toFixed(1)} %`;

  // --- The tree of groups. Each has its own bytes beside those of the groups in it.
  const whole = { name: "all", count: data.objects, retained: data.bytes, own: data.bytes, parts: [], above: null };
  const groups = data.groups.map(([type, above, count, retained, own, way]) =>
    ({ type: types[type], name: title(types[type]), above, count, retained, own, way, parts: [] }));
  for (const group of groups) {
    group.above = group.above === null ? whole : groups[group.above];
    group.above.parts.push(group);
  }

  const hue = (name) => {
    let hash = 0;
    for (const letter of name) hash = (hash * 31 + letter.codePointAt(0)) >>> 0;
    return hash % 360;
  };

  const layout = (from, width, height) => {
    const root = d3.hierarchy(from, (group) => group.parts)
      // What a group has beside its parts, so that areas of parts are in proportion to the whole.
      .sum((group) => group.retained - group.parts.reduce((sum, part) => sum + part.retained, 0))
      .sort((a, b) => b.value - a.value);
    return d3.treemap().size([width, height]).paddingTop((place) => (place.data === whole ? 0 : 16)).paddingInner(1).paddingRight(2).paddingBottom(2).paddingLeft(2).round(true)(root);
  };

  let shown = whole;
  const draw = (from) => {
    shown = from;
    const map = by("map"), width = map.clientWidth, height = map.clientHeight;
    const places = layout(from, width, height).descendants()
      .filter((place) => place.x1 - place.x0 > 3 && place.y1 - place.y0 > 3 && place.data !== whole);
    map.replaceChildren(...places.map((place) => {
      const group = place.data, area = make("button", place.x1 - place.x0 > 30 ? `${group.name}  ${bytes(group.retained)}` : "");
      Object.assign(area.style, { left: `${place.x0}px`, top: `${place.y0}px`, width: `${place.x1 - place.x0}px`, height: `${place.y1 - place.y0}px` });
      area.style.setProperty("--hue", hue(group.name));
      area.title = `${group.name}\n${number.format(group.count)} objects\nretained ${number.format(group.retained)} bytes, ${share(group.retained)}\nown ${number.format(group.own)} bytes`;
      area.addEventListener("click", () => enter(group));
      return area;
    }));
    const crumbs = [];
    for (let group = from; group; group = group.above) crumbs.unshift(group);
    by("crumbs").replaceChildren(...crumbs.flatMap((group, index) => {
      const step = make("button", group.name);
      step.addEventListener("click", () => enter(group));
      return index ? [document.createTextNode(" › "), step] : [step];
    }));
  };

  // The pressed button no longer exists, so the focus moves to the new place in the path.
  const enter = (group) => {
    draw(group);
    tell(group);
    by("crumbs").lastChild.focus();
  };

  // --- What is known of a group or a type.
  const list = (pairs) => {
    const all = make("dl");
    for (const [name, value] of pairs) all.append(make("dt", name), make("dd", value));
    return all;
  };
  const path = (way) => {
    const steps = make("ol");
    steps.append(make("li", way[0]));
    for (const step of way.slice(1)) steps.append(make("li", typeof step === "number" ? title(types[step]) : step));
    return steps;
  };
  const tell = (thing) => {
    const parts = [make("h2", thing.parts ? thing.name : title(thing)), list([
      ["objects", number.format(thing.count)],
      ["own bytes", number.format(thing.own ?? thing.bytes)],
      ["retained", `${number.format(thing.retained)} (${share(thing.retained)})`],
      ...(thing.type ?? thing).module ? [["module", (thing.type ?? thing).module]] : [],
    ])];
    if (thing.way) parts.push(make("h3", "Shortest way from a root to the one that retains most"), path(thing.way));
    if (thing === whole) parts.push(make("p", "Click an area or a type for a way from a root.", { className: "hint" }));
    by("details").replaceChildren(...parts);
  };

  // --- The table.
  let key = "retained", down = true;
  const matching = () => {
    const words = by("words").value.toLowerCase().split(/\s+/).filter(Boolean);
    return types.filter((type) => words.every((word) => `${type.name} ${type.module ?? ""}`.toLowerCase().includes(word)));
  };
  const fill = () => {
    const found = matching();
    const order = key === "name" ? (a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0) : (a, b) => a[key] - b[key];
    found.sort((a, b) => (down ? -1 : 1) * order(a, b));
    by("types").replaceChildren(...found.slice(0, ROWS).map((type) => {
      const row = make("tr", "", { tabIndex: 0 }), name = make("td", type.name, { className: "name" });
      if (type.module) name.append(" ", make("span", last(type.module), { className: "module" }));
      row.append(...["retained", "bytes", "count"].map((cell) => make("td", number.format(type[cell]))), name);
      row.addEventListener("click", () => tell(type));
      row.addEventListener("keydown", (event) => event.key === "Enter" && tell(type));
      return row;
    }));
    by("more").textContent = found.length > ROWS ? `${number.format(found.length - ROWS)} more types: search for words of their names.`
      : found.length ? "" : "No type has these words.";
    for (const head of document.querySelectorAll("th")) {
      const own = head.querySelector("button").dataset.key === key;
      own ? head.setAttribute("aria-sort", down ? "descending" : "ascending") : head.removeAttribute("aria-sort");
    }
  };

  document.title = `Heap: ${last(data.file)}`;
  by("file").textContent = last(data.file);
  by("about").textContent = `${number.format(data.objects)} objects, ${number.format(data.bytes)} bytes, ${number.format(data.edges)} references, ` +
    `${number.format(types.length)} types. ${data.unreached ? `No root leads to ${number.format(data.unreached)} objects, which are not in the map.` : ""}`;
  if (data.reason !== null) {
    by("incomplete").textContent = `This snapshot is incomplete: ${data.reason}.`;
    by("incomplete").hidden = false;
  }
  by("words").addEventListener("input", fill);
  for (const button of document.querySelectorAll("th button"))
    button.addEventListener("click", () => {
      down = key === button.dataset.key ? !down : button.dataset.key !== "name";
      key = button.dataset.key;
      fill();
    });
  addEventListener("resize", () => draw(shown));
  draw(whole);
  fill();
  tell(whole);
}
