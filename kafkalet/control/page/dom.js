// Elements and texts. Data reaches the document only as text nodes and attributes, never as HTML.

/** Create an element. Attributes whose name begins with "on" are listeners; null, undefined and false are skipped. */
export function h(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) set(element, name, value);
  element.append(...nodes(children));
  return element;
}

function set(element, name, value) {
  if (value === null || value === undefined || value === false) return;
  if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
  else if (name === "value") element.value = value;
  else element.setAttribute(name, value === true ? "" : value);
}

function nodes(children) {
  return children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false);
}

/** Show a name of any length: on one line, which is cut, with the whole name in its title. */
export function named(name) {
  return h("span", { class: "name", title: name }, name);
}

/** Replace the children of an element. */
export function fill(element, ...children) {
  element.replaceChildren(...nodes(children));
  return element;
}

/** Set the text of an element, unless the text is the same. */
export function write(element, text) {
  if (element.textContent !== String(text)) element.textContent = text;
}

/**
 * Show items as children, one element for each key. Elements of known keys stay in the document, so that they keep the
 * focus, the selection and the scroll position. `create(item)` returns an element; `update(element, item)` fills it.
 * The key must differ if `create` would return another element: what it shows is never updated.
 */
export function keyed(parent, items, keyOf, create, update) {
  const known = parent.keyed ?? (parent.keyed = new Map());
  const wanted = new Map(items.map((item) => [keyOf(item), item]));
  for (const [key, element] of known) {
    if (!wanted.has(key)) {
      element.remove();
      known.delete(key);
    }
  }
  let place = parent.firstElementChild;
  for (const [key, item] of wanted) {
    let element = known.get(key);
    if (element === undefined) {
      element = create(item);
      known.set(key, element);
    }
    update?.(element, item);
    if (element === place) place = place.nextElementSibling;
    else parent.insertBefore(element, place);
  }
}

/** Return a labelled form control. */
export function labelled(text, control, attributes) {
  return h("label", { class: "field", ...attributes }, h("span", null, text), control);
}

export function select(options, attributes) {
  return h("select", attributes, options.map(([value, text]) => h("option", { value }, text ?? value)));
}

/** Replace the options of a select element and keep its choice if it still exists. */
export function setOptions(element, options) {
  const texts = JSON.stringify(options);
  if (element.optionTexts === texts) return;
  element.optionTexts = texts;
  const chosen = element.value;
  fill(element, options.map(([value, text]) => h("option", { value }, text ?? value)));
  if (options.some(([value]) => value === chosen)) element.value = chosen;
}

// Formats

const numbers = new Intl.NumberFormat("en-US");

export function number(value) {
  return value === null || value === undefined ? "–" : numbers.format(value);
}

export function bytes(value) {
  if (value === null || value === undefined) return "–";
  if (value < 1024) return `${value} B`;
  const units = ["KiB", "MiB", "GiB", "TiB"];
  let size = value;
  let unit = -1;
  do {
    size /= 1024;
    unit += 1;
  } while (size >= 1000 && unit < units.length - 1);
  return `${size < 10 ? size.toFixed(1) : Math.round(size)} ${units[unit]}`;
}

const two = (value) => String(value).padStart(2, "0");

/** Format milliseconds since 1970 as local time, as in 2025-01-31 12:00:00.123. */
export function time(ms, { date = true, millis = true } = {}) {
  if (ms === null || ms === undefined || ms < 0) return "–";
  const at = new Date(ms);
  if (Number.isNaN(at.getTime())) return String(ms);
  const day = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} `;
  const clock = `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
  return (date ? day : "") + clock + (millis ? `.${String(at.getMilliseconds()).padStart(3, "0")}` : "");
}

export function duration(ms) {
  if (ms === null || ms === undefined) return "–";
  if (ms < 1) return `${ms.toFixed(2)} ms`;
  if (ms < 1000) return `${ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms`;
  const seconds = ms / 1000;
  if (seconds < 60) return `${seconds.toFixed(1)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return both(minutes, "min", Math.floor(seconds % 60), "s");
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? both(hours, "h", minutes % 60, "min") : both(Math.floor(hours / 24), "d", hours % 24, "h");
}

function both(large, unit, small, smaller) {
  return `${large} ${unit}${small > 0 ? ` ${small} ${smaller}` : ""}`;
}

export function plural(count, one, many = `${one}s`) {
  return `${number(count)} ${count === 1 ? one : many}`;
}

export function capital(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
