// Messages to the user: notices that disappear, and errors next to their cause.

import { fill, h } from "./dom.js";

/** Show a notice for some seconds. */
export function notify(text) {
  const close = h("button", { type: "button", class: "plain", "aria-label": "Close the notice" }, "×");
  const notice = h("div", { class: "notice" }, h("span", null, text), close);
  close.addEventListener("click", () => notice.remove());
  document.getElementById("notices").append(notice);
  setTimeout(() => notice.remove(), 5000);
}

/** The user's input cannot be sent. */
export class Mistake extends Error {
  code = "";
}

/** Return an element for the error of an action. */
export function problem() {
  return h("p", { class: "problem", role: "alert", hidden: true });
}

/** Run an action of the API. Its error is shown in `place`. Returns the result, or undefined after an error. */
export async function attempt(place, action) {
  try {
    const result = await action();
    place.hidden = true;
    fill(place);
    return result;
  } catch (error) {
    if (error.code === undefined) console.error(error);
    place.hidden = false;
    fill(place, error.code ? h("code", null, error.code) : "", " ", error.message);
    return undefined;
  }
}

/** Ask before something that cannot be undone. Returns a promise of true or false. */
export function confirmed(question, action) {
  return new Promise((resolve) => {
    const dialog = h(
      "dialog",
      { "aria-labelledby": "confirm-title" },
      h("h2", { id: "confirm-title" }, question),
      h(
        "div",
        { class: "actions" },
        h("button", { type: "button", autofocus: true, onclick: () => dialog.close() }, "Cancel"),
        h("button", { type: "button", class: "danger", onclick: () => dialog.close("yes") }, action),
      ),
    );
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(dialog.returnValue === "yes");
    });
    document.body.append(dialog);
    dialog.showModal();
  });
}
