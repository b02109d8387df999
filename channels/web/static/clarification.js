// A question of the agent: choices as buttons, a form as fields, and afterwards who answered what.

import { fragment, h, icon, newId } from "./elements.js";

const SIGNS = { "❓": "question", "🤔": "question", "🔀": "branch", "⚠️": "warning", "💡": "bulb" };

export function clarificationView(actions) {
  const node = h("section", { class: "question" });
  const update = (question) => {
    node.dataset.state = question.state;
    node.replaceChildren(head(question), body(question, actions));
  };
  return { node, update };
}

function head(question) {
  const words = h("div", { class: "question-words" }, fragment(question.question_html));
  if (question.context_html) words.append(h("div", { class: "question-context" }, fragment(question.context_html)));
  return h("div", { class: "question-head" }, sign(question.icon), words);
}

/** The usual signs as drawings of ours: not every machine has an emoji font. */
function sign(emoji) {
  return h("span", { class: "question-icon", "aria-hidden": "true" }, SIGNS[emoji] ? icon(SIGNS[emoji]) : emoji);
}

function body(question, actions) {
  if (question.state === "answered") return answered(question);
  if (question.state !== "open") return h("p", { class: "question-closed" }, question.closed_words);
  if (question.fields.length) return form(question, actions);
  if (question.options.length) return choices(question, actions);
  return h("p", { class: "question-hint" }, "Write your answer below.");
}

function answered(question) {
  const who = question.answered_by === "You" ? "You chose" : `${question.answered_by} chose`;
  const answer = question.answer ? [`${who} `, h("strong", {}, question.answer)] : ["Answered"];
  return h("p", { class: "question-answer" }, icon("check"), h("span", {}, ...answer));
}

function choices(question, actions) {
  const problem = h("p", { class: "question-problem", role: "alert", hidden: true });
  const press = attempt(actions, question, problem);
  const buttons = question.options.map((option, index) =>
    h(
      "button",
      { type: "button", class: "choice", onclick: (event) => press({ option: index }, event.currentTarget) },
      h("span", { class: "choice-label" }, option.label),
      option.description ? h("span", { class: "choice-description" }, option.description) : null,
    ),
  );
  const hint = h("p", { class: "question-hint" }, "Or write your own answer below.");
  return h("div", { class: "choices", role: "group", "aria-label": "Choices" }, ...buttons, hint, problem);
}

function form(question, actions) {
  const problem = h("p", { class: "question-problem", role: "alert", hidden: true });
  const press = attempt(actions, question, problem);
  const fields = question.fields.map(formField);
  const submit = h("button", { type: "submit", class: "primary" }, "Send answers");
  const onsubmit = (event) => {
    event.preventDefault();
    const values = Object.fromEntries(fields.map((field) => [field.name, field.value()]));
    press({ values }, submit);
  };
  return h("form", { class: "fields", onsubmit }, ...fields.map((field) => field.node), submit, problem);
}

/** Presses once at a time; a refusal is shown where the person pressed. */
function attempt(actions, question, problem) {
  let isBusy = false;
  return async (answer, button) => {
    if (isBusy) return;
    isBusy = true;
    button.classList.add("is-pressed");
    problem.hidden = true;
    try {
      await actions.press({ client_id: newId(), token: question.token, ...answer });
    } catch (error) {
      button.classList.remove("is-pressed");
      problem.textContent = error.message;
      problem.hidden = false;
      isBusy = false;
    }
  };
}

function formField(field) {
  if (!field.options.length) return textField(field);
  return field.multiple ? manyOf(field) : oneOf(field);
}

function textField(field) {
  const id = `field-${newId()}`;
  const input = h("input", { id, type: "text", class: "text-input", maxlength: "10000", required: field.required });
  const node = h("div", { class: "field" }, h("label", { for: id }, ...labelWords(field)), input);
  return { name: field.name, node, value: () => input.value.trim() };
}

function oneOf(field) {
  const group = `field-${newId()}`;
  const inputs = field.options.map((option) =>
    h("input", { type: "radio", name: group, value: option.value, required: field.required }),
  );
  return { name: field.name, node: fieldset(field, inputs), value: () => inputs.find((input) => input.checked)?.value ?? "" };
}

function manyOf(field) {
  const inputs = field.options.map((option) => h("input", { type: "checkbox", value: option.value }));
  const chosen = () => inputs.filter((input) => input.checked).map((input) => input.value);
  return { name: field.name, node: fieldset(field, inputs), value: () => chosen().join(", ") };
}

function fieldset(field, inputs) {
  const lines = field.options.map((option, index) =>
    h(
      "label",
      { class: "pick" },
      inputs[index],
      h("span", {}, option.label, option.description ? h("span", { class: "choice-description" }, option.description) : null),
    ),
  );
  return h("fieldset", { class: "field" }, h("legend", {}, ...labelWords(field)), ...lines);
}

function labelWords(field) {
  return field.required ? [field.label] : [field.label, h("span", { class: "optional" }, " (optional)")];
}
