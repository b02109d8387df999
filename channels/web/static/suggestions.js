// What an empty page proposes: one thing of each kind the agent can do.

import { h, icon } from "./elements.js";

const SUGGESTIONS = [
  { icon: "question", title: "Plan something", text: "Help me plan a report, and ask me what you need to know first.", note: "It asks a question back" },
  { icon: "pencil", title: "Write a file", text: "Write a short packing list for a weekend into a file.", note: "You get it as a download" },
  { icon: "table", title: "Read my data", text: "What is in this file?", note: "Attach a CSV or a text", attach: true },
];

/** The cards; `onTake(suggestion)` is called with the one that was pressed. */
export function suggestionCards(onTake) {
  return SUGGESTIONS.map((suggestion) =>
    h(
      "button",
      { type: "button", class: "suggestion", onclick: () => onTake(suggestion) },
      icon(suggestion.icon),
      h("span", { class: "suggestion-title" }, suggestion.title),
      h("span", { class: "suggestion-note" }, suggestion.note),
    ),
  );
}
