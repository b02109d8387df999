// A question of the agent: choices as buttons, a form as fields, and afterwards who answered what.

import { fragment, h, icon, newId } from "./elements.js";

const SIGNS = { "❓": "question", "🤔": "question", "🔀": "branch", "⚠️": "warning", "💡": "bulb" };

export function clarificationView(actions) {
  const node = h("section", { class: "question" });
  let form = null;
  const update = (question) => {
    node.dataset.state = question.state;
    const isForm = question.state === "open" && question.fields.length > 0;
    form = isForm ? (form ?? formView(question, actions)) : null;
    form?.apply(question);
    keepingFocus(node, () => node.replaceChildren(head(question), form?.node ?? body(question, actions)));
  };
  return { node, update };
}

/** Whoever works with the keyboard stays where they were when a newer state is drawn. */
function keepingFocus(node, redraw) {
  const focused = node.contains(document.activeElement) ? document.activeElement : null;
  redraw();
  if (!focused) return;
  const key = focused.dataset.key;
  (node.contains(focused) ? focused : key && node.querySelector(`[data-key="${key}"]`))?.focus();
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
  if (question.options.length) return question.multiple ? manyChoices(question, actions) : choices(question, actions);
  return h("p", { class: "question-hint" }, "Write your answer below.");
}

function answered(question) {
  const did = question.options.length ? "chose" : "answered";
  const who = `${question.answered_by} ${did}`;
  const answer = question.answer ? [`${who} `, h("strong", {}, question.answer)] : ["Answered"];
  return h("p", { class: "question-answer" }, icon("check"), h("span", {}, ...answer));
}

function choices(question, actions) {
  const problem = problemLine();
  const press = attempt(actions, question, problem);
  const buttons = question.options.map((option, index) =>
    h(
      "button",
      { type: "button", class: "choice", onclick: (event) => press({ option: index }, event.currentTarget) },
      ...choiceWords(option),
    ),
  );
  const hint = h("p", { class: "question-hint" }, "Or write your own answer below.");
  return h("div", { class: "choices", role: "group", "aria-label": "Choices" }, ...buttons, hint, problem);
}

/** Every tick is kept at once, so that it is there in another window and after a reload; Done says that these are all. */
function manyChoices(question, actions) {
  const problem = problemLine();
  const chosen = new Set(question.filled.answer ?? []);
  const ticks = question.options.map((option, index) => {
    const input = h("input", { type: "checkbox", data: { key: `option-${index}` } });
    input.checked = chosen.has(option.value);
    input.addEventListener("change", () => keepTick(actions, question, { input, index, problem }));
    return h("label", { class: "choice tick" }, input, h("span", { class: "tick-words" }, ...choiceWords(option)));
  });
  const press = attempt(actions, question, problem);
  const values = () => question.options.filter((_, index) => ticks[index].firstElementChild.checked).map((option) => option.value);
  const submit = (event) => {
    const answer = values();
    if (answer.length || !question.required) press({ action: "submit", values: { answer } }, event.currentTarget);
    else say(problem, "Please choose at least one first.");
  };
  const done = h("button", { type: "button", class: "primary", data: { key: "done" }, onclick: submit }, "Done");
  const hint = h("p", { class: "question-hint" }, question.required ? "Choose one or several." : "Choose any, or none.");
  return h("div", { class: "choices", role: "group", "aria-label": "Choices" }, ...ticks, done, hint, problem);
}

async function keepTick(actions, question, { input, index, problem }) {
  problem.hidden = true;
  const action = input.checked ? "choose" : "unchoose";
  try {
    await actions.press({ client_id: newId(), token: question.token, option: index, action }, { stays: true });
  } catch (error) {
    input.checked = !input.checked;
    say(problem, error.message);
  }
}

function choiceWords(option) {
  return [
    h("span", { class: "choice-label" }, option.label),
    option.description ? h("span", { class: "choice-description" }, option.description) : null,
  ];
}

function problemLine() {
  return h("p", { class: "question-problem", role: "alert", hidden: true });
}

function say(problem, text) {
  problem.textContent = text;
  problem.hidden = false;
}

/** The form stays the same while the question is open: what is being typed is not drawn over. */
function formView(question, actions) {
  const problem = problemLine();
  const press = attempt(actions, question, problem);
  const fields = question.fields.map(formField);
  const submit = h("button", { type: "submit", class: "primary" }, "Send answers");
  const hint = h("p", { class: "question-hint" });
  const onsubmit = (event) => {
    event.preventDefault();
    const values = Object.fromEntries(fields.map((field) => [field.name, field.value()]));
    press({ action: "submit", values }, submit);
  };
  const node = h("form", { class: "fields", onsubmit }, ...fields.map((field) => field.node), submit, hint, problem);
  const apply = ({ filled, step }) => {
    for (const field of fields) {
      const values = filled[field.name] ?? [];
      if (values.join("\n") !== (field.known ?? "")) field.set(values);
      field.known = values.join("\n");
    }
    hint.textContent = `Or write below: your next message answers “${question.fields[step].label}”.`;
  };
  return { node, apply };
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
      say(problem, error.message);
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
  return { name: field.name, node, value: () => input.value.trim(), set: ([value]) => (input.value = value ?? "") };
}

function oneOf(field) {
  const group = `field-${newId()}`;
  const picks = pickList(field, () => ({ type: "radio", name: group, required: field.required }));
  return { name: field.name, node: picks.node, value: () => picks.chosen()[0] ?? "", set: picks.set };
}

function manyOf(field) {
  const picks = pickList(field, () => ({ type: "checkbox" }));
  return { name: field.name, node: picks.node, value: picks.chosen, set: picks.set };
}

/** Options to pick; what somebody has written instead of one becomes one. */
function pickList(field, properties) {
  const node = h("fieldset", { class: "field" }, h("legend", {}, ...labelWords(field)));
  const inputs = [];
  const add = (option) => {
    const input = h("input", { ...properties(), value: option.value });
    inputs.push(input);
    node.append(h("label", { class: "pick" }, input, h("span", {}, ...choiceWords(option))));
  };
  field.options.forEach(add);
  const chosen = () => inputs.filter((input) => input.checked).map((input) => input.value);
  const set = (values) => {
    for (const value of values) if (!inputs.some((input) => input.value === value)) add({ label: value, value });
    for (const input of inputs) input.checked = values.includes(input.value);
  };
  return { node, chosen, set };
}

function labelWords(field) {
  return field.required ? [field.label] : [field.label, h("span", { class: "optional" }, " (optional)")];
}
