// 👍 and 👎 under an answer: what the person thinks of it, shown as long as they think so.

import { h, icon, newId } from "./elements.js";

const NAMES = { 1: "Good answer", [-1]: "Bad answer" };

/** `actions`: ratingOf(runId), and rate(feedback), which gives a promise that fails with what to show. */
export function thumbsView(actions) {
  const word = h("span", { class: "thumbs-word", role: "status" });
  const buttons = [1, -1].map((rating) => h("button", { type: "button", class: "thumb", "aria-label": NAMES[rating], title: NAMES[rating] }, icon(rating > 0 ? "up" : "low")));
  const node = h("div", { class: "thumbs", role: "group", "aria-label": "Rate this answer" }, ...buttons, word);
  let run = null;
  const show = (rating) => buttons.forEach((button, index) => button.setAttribute("aria-pressed", [1, -1][index] === rating));
  const press = async (rating) => {
    const before = actions.ratingOf(run);
    const after = before === rating ? 0 : rating;
    show(after);
    try {
      await actions.rate({ client_id: newId(), run_id: run, rating: after });
      word.textContent = after ? "Thank you" : "Taken back";
    } catch (error) {
      show(before);
      word.textContent = error.message;
    }
  };
  buttons.forEach((button, index) => button.addEventListener("click", () => press([1, -1][index])));
  const update = ({ run_id }) => {
    run = run_id;
    show(actions.ratingOf(run));
  };
  return { node, update };
}
