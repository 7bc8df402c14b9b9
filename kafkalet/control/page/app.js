// The frame of the page: tabs, keyboard, theme, connection, notices and dialogs.

import * as api from "./api.js";
import * as live from "./live.js";
import { fill, h, number, write } from "./dom.js";
import { go, onRoute, route } from "./routes.js";
import * as topics from "./topics.js";
import * as records from "./records.js";
import * as groups from "./groups.js";
import * as transactions from "./transactions.js";
import * as journal from "./journal.js";
import * as faults from "./faults.js";
import * as cluster from "./cluster.js";

const PANELS = [
  { name: "topics", title: "Topics", key: "t", module: topics },
  { name: "records", title: "Records", key: "r", module: records },
  { name: "groups", title: "Groups", key: "g", module: groups },
  { name: "transactions", title: "Transactions", key: "x", module: transactions },
  { name: "journal", title: "Journal", key: "j", module: journal },
  { name: "faults", title: "Faults", key: "f", module: faults },
  { name: "cluster", title: "Cluster and clock", key: "c", module: cluster },
];

const tabs = document.getElementById("tabs");
const main = document.getElementById("main");

// Panels and tabs

for (const panel of PANELS) {
  panel.count = h("span", { class: "count", hidden: true });
  panel.tab = h(
    "button",
    {
      type: "button",
      role: "tab",
      id: `tab-${panel.name}`,
      "aria-controls": `panel-${panel.name}`,
      "aria-selected": "false",
      "aria-keyshortcuts": `g ${panel.key}`,
      onclick: () => go(panel.name),
    },
    panel.title,
    panel.count,
  );
  panel.section = h("section", {
    role: "tabpanel",
    id: `panel-${panel.name}`,
    "aria-labelledby": `tab-${panel.name}`,
    class: "panel",
    hidden: true,
  });
  tabs.append(panel.tab);
  main.append(panel.section);
  panel.view = panel.module.create(panel.section, {
    setCount(count, isAlert = false) {
      panel.count.hidden = !count;
      write(panel.count, count ? number(count) : "");
      panel.count.classList.toggle("alert", isAlert);
    },
  });
}

tabs.addEventListener("keydown", (event) => {
  const at = PANELS.findIndex((panel) => panel.tab === document.activeElement);
  const moves = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: PANELS.length - 1 };
  if (at < 0 || !(event.key in moves)) return;
  event.preventDefault();
  const { name, tab } = PANELS.at(moves[event.key] % PANELS.length);
  go(name);
  tab.focus();
});

let current = null;

function show({ parts, query }) {
  const panel = PANELS.find(({ name }) => name === parts[0]) ?? PANELS[0];
  for (const other of PANELS) {
    const isShown = other === panel;
    other.section.hidden = !isShown;
    other.tab.setAttribute("aria-selected", String(isShown));
    other.tab.tabIndex = isShown ? 0 : -1;
  }
  if (current !== panel) current?.view.leave?.();
  current = panel;
  document.title = `${panel.title} · kafkalet`;
  panel.view.show(parts.slice(1), query);
}

// Theme

const themeButton = document.getElementById("theme");
const prefersDark = matchMedia("(prefers-color-scheme: dark)");

function isDark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : prefersDark.matches;
}

function showTheme() {
  write(themeButton, isDark() ? "Light" : "Dark");
  themeButton.setAttribute("aria-label", `Use the ${isDark() ? "light" : "dark"} theme`);
}

function toggleTheme() {
  const theme = isDark() ? "light" : "dark";
  document.documentElement.dataset.theme = theme;
  try {
    localStorage.setItem("kafkalet-theme", theme);
  } catch {
    // storage is disabled: the theme lasts as long as the page
  }
  showTheme();
}

themeButton.addEventListener("click", toggleTheme);
prefersDark.addEventListener("change", showTheme);
showTheme();

// Connection

const connection = document.getElementById("connection");

function showConnection(isConnected, error) {
  connection.dataset.state = isConnected ? "open" : "closed";
  write(connection, isConnected ? "live" : "connection lost, retrying");
  connection.title = isConnected ? "" : (error?.message ?? "");
  document.body.classList.toggle("stale", !isConnected);
  if (isConnected) for (const panel of PANELS) panel.view.reconnected?.();
}

const facts = document.getElementById("facts");

async function showFacts() {
  try {
    const found = await api.get("/v1/cluster");
    const running = found.brokers.filter((broker) => broker.is_running).length;
    fill(
      facts,
      h("span", { class: "fact" }, "Kafka ", h("b", null, found.kafka_version)),
      h("span", { class: "fact" }, running === found.brokers.length ? "" : `${running} of `, h("b", null, found.brokers.length), found.brokers.length === 1 ? " broker" : " brokers"),
      h("span", { class: "fact mono", title: "bootstrap.servers" }, found.bootstrap_servers || "no broker is running"),
    );
  } catch {
    // the connection shows that the broker cannot be reached
  }
}

live.on(["brokers"], showFacts);

// Token

api.onToken((isWrong) => {
  const input = h("input", { type: "password", name: "token", required: true, autocomplete: "off" });
  return new Promise((resolve) => {
    const dialog = h(
      "dialog",
      { "aria-labelledby": "token-title" },
      h(
        "form",
        {
          onsubmit: (event) => {
            event.preventDefault();
            dialog.close();
            dialog.remove();
            resolve(input.value.trim());
          },
        },
        h("h2", { id: "token-title" }, "Token of the control API"),
        h("p", null, isWrong ? "This token is wrong. " : "", "It is the value of --control-token, and is kept until this tab is closed."),
        h("label", { class: "field" }, h("span", null, "Token"), input),
        h("div", { class: "actions" }, h("button", { class: "primary" }, "Continue")),
      ),
    );
    dialog.addEventListener("cancel", (event) => event.preventDefault());
    document.body.append(dialog);
    dialog.showModal();
    input.focus();
  });
});

// Keyboard

const SHORTCUTS = [
  ...PANELS.map(({ key, title }) => [["g", key], title]),
  [["/"], "Search in the panel"],
  [["j"], "Next item (also ↓)"],
  [["k"], "Previous item (also ↑)"],
  [["Enter"], "Open the item"],
  [["Esc"], "Close what is open"],
  [["p"], "Pause or continue the journal"],
  [["d"], "Light or dark theme"],
  [["?"], "This list"],
];

function showHelp() {
  if (document.querySelector("dialog[open]")) return;
  const dialog = h(
    "dialog",
    { "aria-labelledby": "help-title", class: "help", onclose: () => dialog.remove() },
    h("h2", { id: "help-title" }, "Keyboard shortcuts"),
    h(
      "dl",
      { class: "keys" },
      SHORTCUTS.map(([keys, text]) => [h("dt", null, keys.map((key) => h("kbd", null, key))), h("dd", null, text)]),
    ),
    h("div", { class: "actions" }, h("button", { type: "button", onclick: () => dialog.close() }, "Close")),
  );
  document.body.append(dialog);
  dialog.showModal();
}

document.getElementById("help").addEventListener("click", showHelp);

function move(step) {
  const rows = [...current.section.querySelectorAll("[data-row]")].filter((row) => row.checkVisibility());
  if (rows.length === 0) return;
  const at = rows.findIndex((row) => row === document.activeElement || row.closest("tr, li")?.contains(document.activeElement));
  const next = rows[at < 0 ? (step > 0 ? 0 : rows.length - 1) : Math.min(rows.length - 1, Math.max(0, at + step))];
  next.focus();
  next.scrollIntoView({ block: "nearest" });
}

const isTyping = (target) => target.matches("input:not([type=checkbox]):not([type=radio]), textarea, select");
let isAfterG = false;

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  if (event.key === "Escape") {
    if (isTyping(event.target)) {
      event.preventDefault(); // a search field would lose its text
      event.target.blur();
    } else current.view.close?.();
    return;
  }
  if (isTyping(event.target)) return;
  const panel = isAfterG && PANELS.find(({ key }) => key === event.key);
  isAfterG = false;
  const actions = {
    g: () => {
      isAfterG = true;
      setTimeout(() => (isAfterG = false), 1500);
    },
    "/": () => current.section.querySelector("[data-search]")?.focus(),
    "?": showHelp,
    j: () => move(1),
    k: () => move(-1),
    d: toggleTheme,
    p: () => current.module === journal && journal.togglePause(),
  };
  if (event.target.matches("[data-row]")) {
    actions.ArrowDown = actions.j;
    actions.ArrowUp = actions.k;
  }
  const action = panel ? () => { go(panel.name); panel.tab.focus(); } : actions[event.key];
  if (action === undefined) return;
  event.preventDefault();
  action();
});

document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault(); // the fragment of the URL is the place that is shown
  main.focus();
});

onRoute(show);
show(route());
live.start(showConnection);
