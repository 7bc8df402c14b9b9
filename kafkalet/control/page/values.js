// Keys, values and headers of records: as text, JSON or hexadecimal bytes.

import { h, number, plural } from "./dom.js";

const LONGEST = 64 * 1024; // of a value that is shown whole
const CONTROL = /[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/; // not tab, line feed and carriage return

/** Return the bytes of a field whose encoding is text or base64, or null. */
export function toBytes(text, encoding) {
  if (text === null) return null;
  if (encoding === "text") return new TextEncoder().encode(text);
  return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
}

/** Return one line for a table. */
export function oneLine(text, encoding) {
  if (text === null) return h("span", { class: "null" }, "null");
  if (text === "") return h("span", { class: "null" }, "empty");
  if (encoding === "text") {
    const hint = CONTROL.test(text) && h("span", { class: "tag", title: "The view “hex” shows them" }, "control characters");
    return [hint, text.length > 300 ? `${text.slice(0, 300)}…` : text];
  }
  const bytes = toBytes(text.slice(0, 64), "base64");
  const total = Math.floor((text.length * 3) / 4) - (text.endsWith("==") ? 2 : text.endsWith("=") ? 1 : 0);
  const shown = [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join(" ");
  return [h("span", { class: "tag" }, plural(total, "byte")), ` ${shown}${total > bytes.length ? " …" : ""}`];
}

/** Show a field in a view: auto, text, json or hex. */
export function shown(text, encoding, view) {
  if (text === null) return h("p", { class: "null" }, "null");
  const bytes = toBytes(text, encoding);
  if (bytes.length === 0) return h("p", { class: "null" }, "empty");
  if (view === "hex" || (view === "auto" && encoding !== "text")) return h("pre", { class: "hex", tabindex: 0 }, hexadecimal(bytes));
  const whole = encoding === "text" ? text : new TextDecoder().decode(bytes);
  if (view === "json" || view === "auto") {
    const pretty = prettyJson(whole);
    if (pretty !== null) return h("pre", { class: "json", tabindex: 0 }, cut(pretty));
    if (view === "json") return [h("p", { class: "null" }, "This is not JSON."), h("pre", { tabindex: 0 }, cut(whole))];
  }
  const hint = CONTROL.test(whole) && h("p", { class: "null" }, "This has control characters. The view “hex” shows them.");
  return [hint, h("pre", { tabindex: 0 }, cut(whole))];
}

function cut(text) {
  return text.length > LONGEST ? `${text.slice(0, LONGEST)}\n… ${number(text.length - LONGEST)} characters more` : text;
}

/**
 * Indent JSON without parsing numbers, so that those of more than 53 bits keep their digits. Returns null if the text
 * is not a JSON object or array.
 */
export function prettyJson(text) {
  if (!/^\s*[[{]/.test(text)) return null;
  try {
    JSON.parse(text);
  } catch {
    return null;
  }
  let depth = 0;
  const line = () => `\n${"  ".repeat(depth)}`;
  return text.trim().replace(/"(?:[^"\\]|\\.)*"|[{[]\s*[}\]]|[{}[\],:]|\s+/g, (token) => {
    if (/^\s/.test(token)) return "";
    if (token.length > 1) return token[0] === '"' ? token : token[0] + token.at(-1);
    if (token === "{" || token === "[") {
      depth += 1;
      return token + line();
    }
    if (token === "}" || token === "]") {
      depth -= 1;
      return line() + token;
    }
    if (token === ",") return `,${line()}`;
    return token === ":" ? ": " : token;
  });
}

function hexadecimal(bytes) {
  const lines = [];
  const shown = bytes.subarray(0, LONGEST / 4);
  for (let at = 0; at < shown.length; at += 16) {
    const row = [...shown.subarray(at, at + 16)];
    const pairs = row.map((byte) => byte.toString(16).padStart(2, "0"));
    const left = [pairs.slice(0, 8).join(" "), pairs.slice(8).join(" ")].join("  ").padEnd(49);
    const right = row.map((byte) => (byte >= 32 && byte < 127 ? String.fromCharCode(byte) : ".")).join("");
    lines.push(`${at.toString(16).padStart(6, "0")}  ${left} ${right}`);
  }
  if (bytes.length > shown.length) lines.push(`… ${number(bytes.length - shown.length)} bytes more`);
  return lines.join("\n");
}
