// Drawing an answer: its parts, kept in place when a newer snapshot changes only some of them.

import { clarificationView } from "./clarification.js";
import { fragment, h, icon, size } from "./elements.js";
import { thumbsView } from "./thumbs.js";

const NOTICE_ICONS = { info: "info", waiting: "clock", stopped: "stop", error: "warning" };
const TODO_WORDS = { pending: "to do", in_progress: "in progress", completed: "done" };

export class ReplyView {
  /** `actions`: press(answer), sendNow(run), drop(run); each gives a promise that fails with what to show. See also `thumbsView`. */
  constructor(actions) {
    this.actions = actions;
    this.views = new Map();
    this.thumbs = thumbsView(actions);
    this.body = h("div", { class: "reply-body" });
    this.node = h("li", { class: "reply" }, h("span", { class: "visually-hidden" }, "Answer"), this.body);
  }

  update(reply) {
    this.node.dataset.phase = reply.phase;
    this.node.dataset.replyId = reply.reply_id;
    const parts = withWaiting(reply, grouped(reply.parts));
    const keep = new Set();
    parts.forEach((part, index) => {
      const name = keyOf(part, index);
      const key = keep.has(name) ? `${name} ${index}` : name;
      keep.add(key);
      this.place(this.view(key, part), index);
    });
    for (const [key, view] of this.views) {
      if (keep.has(key)) continue;
      view.node.remove();
      this.views.delete(key);
    }
    this.offerThumbs(reply);
  }

  offerThumbs(reply) {
    if (!reply.can_rate) {
      this.thumbs.node.remove();
      return;
    }
    this.thumbs.update(reply);
    if (!this.thumbs.node.isConnected) this.node.append(this.thumbs.node);
  }

  view(key, part) {
    let view = this.views.get(key);
    if (!view) {
      view = VIEWS[part.kind](this.actions);
      this.views.set(key, view);
    }
    const drawn = JSON.stringify(part);
    if (view.drawn !== drawn) view.update(part);
    view.drawn = drawn;
    return view;
  }

  place(view, index) {
    const there = this.body.children[index];
    if (there !== view.node) this.body.insertBefore(view.node, there ?? null);
  }
}

/** The answer's words, for people who listen. */
export function spokenText(reply) {
  const spoken = reply.parts.map((part) => {
    if (part.kind === "text") return fragment(part.html).textContent;
    if (part.kind === "clarification") return `Question: ${fragment(part.question_html).textContent}`;
    if (part.kind === "notice") return part.text;
    return part.kind === "artifact" ? `File: ${part.name}` : "";
  });
  return spoken.filter(Boolean).join(" ").slice(0, 1_000);
}

const VIEWS = {
  text: textView,
  steps: stepsView,
  todos: todosView,
  clarification: clarificationView,
  artifact: artifactView,
  notice: noticeView,
  waiting: waitingView,
  thinking: thinkingView,
};

/** Tool calls that follow each other are one line that opens. */
function grouped(parts) {
  const groups = [];
  for (const part of parts) {
    const last = groups.at(-1);
    if (part.kind !== "tool_activity") groups.push(part);
    else if (last?.kind === "steps") last.calls.push(part);
    else groups.push({ kind: "steps", id: part.id, calls: [part] });
  }
  return groups;
}

/** While nothing moves on the screen, something says that work goes on. */
function withWaiting(reply, parts) {
  if (reply.phase === "final") return parts;
  const last = parts.at(-1);
  if (reply.phase === "queued") {
    const said = last ? parts : [{ kind: "notice", notice: "waiting", text: "Waiting for its turn" }];
    return reply.waits ? [...said, { kind: "waiting", id: reply.run_id }] : said;
  }
  const isMoving = last?.kind === "steps" && last.calls.some((call) => call.state === "running");
  return isMoving || (last?.kind === "clarification" && last.state === "open") ? parts : [...parts, { kind: "thinking" }];
}

function keyOf(part, index) {
  return `${part.kind}:${part.id ?? part.token ?? part.url ?? (part.kind === "thinking" ? "" : index)}`;
}

function textView() {
  const node = h("div", { class: "prose" });
  let drawn = [];
  return { node, update: (part) => (drawn = redraw(node, drawn, part.html)) };
}

/** Replace only the blocks that changed, so that a selection in an earlier paragraph survives the next words. */
function redraw(node, drawn, html) {
  const blocks = [...fragment(html).children];
  const next = blocks.map((block, index) => {
    const source = block.outerHTML;
    if (drawn[index]?.source === source) return drawn[index];
    const element = decorated(block);
    if (drawn[index]) drawn[index].element.replaceWith(element);
    else node.append(element);
    return { source, element };
  });
  for (const left of drawn.slice(next.length)) left.element.remove();
  return next;
}

function decorated(block) {
  if (block.tagName === "TABLE") return h("div", { class: "table-frame", tabindex: "0" }, block);
  if (block.tagName !== "PRE") return block;
  const language = block.firstElementChild?.className.replace("language-", "") ?? "";
  block.tabIndex = 0;
  const words = h("div", { class: "code-head" }, h("span", {}, language), navigator.clipboard ? copyButton(block) : null);
  return h("div", { class: "code" }, words, block);
}

function copyButton(block) {
  const copy = h("button", { class: "copy", type: "button", "aria-label": "Copy the code", title: "Copy" }, icon("copy"));
  copy.addEventListener("click", () => copyText(copy, block.textContent));
  return copy;
}

async function copyText(button, text) {
  await navigator.clipboard.writeText(text);
  button.replaceChildren(icon("check"));
  setTimeout(() => button.replaceChildren(icon("copy")), 1_500);
}

function stepsView() {
  const list = h("ul", { class: "steps-list" });
  const summary = h("summary", {});
  const node = h("details", { class: "steps" }, summary, list);
  const update = ({ calls }) => {
    const running = calls.findLast((call) => call.state === "running");
    const shown = running ?? (calls.length === 1 ? calls[0] : null);
    node.dataset.state = running ? "running" : calls.some((call) => call.state === "failed") ? "failed" : "done";
    node.dataset.single = calls.length === 1;
    summary.replaceChildren(
      stepMark(node.dataset.state),
      h("span", { class: "step-text" }, ...(shown ? stepWords(shown) : [`${calls.length} steps`])),
      h("span", { class: "chevron" }, icon("chevron")),
    );
    const lines = calls.length === 1 ? [] : calls;
    list.replaceChildren(
      ...lines.map((call) => h("li", {}, stepMark(call.state), h("span", { class: "step-text" }, ...stepWords(call)))),
    );
  };
  return { node, update };
}

function stepWords(call) {
  const name = call.name.replaceAll("_", " ");
  const words = name.charAt(0).toUpperCase() + name.slice(1);
  return [h("span", { class: "step-name" }, words), call.detail ? h("span", { class: "step-detail" }, call.detail) : null];
}

function stepMark(state) {
  const words = { running: "running", done: "done", failed: "failed" }[state];
  const mark = state === "running" ? h("span", { class: "spinner" }) : icon(state === "failed" ? "warning" : "check");
  return h("span", { class: `step-mark is-${state}` }, mark, h("span", { class: "visually-hidden" }, `${words}: `));
}

function todosView() {
  const list = h("ul", { class: "todos" });
  const title = h("p", { class: "todos-title" });
  const node = h("section", { class: "plan", "aria-label": "Plan" }, title, list);
  const update = ({ items }) => {
    const done = items.filter((item) => item.status === "completed").length;
    title.textContent = `Plan · ${done} of ${items.length} done`;
    list.replaceChildren(
      ...items.map((item) =>
        h(
          "li",
          { class: `todo is-${item.status}` },
          h("span", { class: "todo-box" }, item.status === "completed" ? icon("check") : null),
          h("span", { class: "visually-hidden" }, `${TODO_WORDS[item.status]}: `),
          h("span", { class: "todo-text" }, item.text),
        ),
      ),
    );
  };
  return { node, update };
}

function artifactView() {
  const node = h("figure", { class: "artifact" });
  const update = (part) => {
    const address = new URL(part.url, document.baseURI).href;
    const picture = part.is_image
      ? h("a", { href: address, target: "_blank", rel: "noopener" }, h("img", { src: address, alt: part.name, loading: "lazy" }))
      : null;
    node.replaceChildren(...[picture, fileCard(part, `${address}&download=1`)].filter(Boolean));
  };
  return { node, update };
}

/** A file with its name, its size and a way to have it. */
export function fileCard(file, address) {
  return h(
    "a",
    { class: "file-card", href: address, download: file.name },
    h("span", { class: "file-icon" }, icon("file")),
    h("span", { class: "file-words" }, h("span", { class: "file-name" }, file.name), h("span", { class: "file-size" }, size(file.size_bytes))),
    h("span", { class: "file-get" }, icon("download"), h("span", { class: "visually-hidden" }, "Download")),
  );
}

function noticeView() {
  const node = h("p", { class: "notice" });
  const update = (part) => {
    node.dataset.notice = part.notice;
    node.replaceChildren(icon(NOTICE_ICONS[part.notice] ?? "info"), h("span", {}, part.text));
  };
  return { node, update };
}

/** What can be done about a turn that has not begun. */
function waitingView(actions) {
  const problem = h("p", { class: "question-problem", role: "alert", hidden: true });
  const buttons = h("div", { class: "waiting-buttons" });
  const node = h("div", { class: "waiting" }, buttons, problem);
  const act = async (action) => {
    for (const button of buttons.children) button.disabled = true;
    try {
      await action();
    } catch (error) {
      problem.textContent = error.message;
      problem.hidden = false;
      for (const button of buttons.children) button.disabled = false;
    }
  };
  const update = ({ id }) =>
    buttons.replaceChildren(
      h("button", { type: "button", class: "quiet", onclick: () => act(() => actions.sendNow(id)) }, icon("send"), "Send now"),
      h("button", { type: "button", class: "quiet", onclick: () => act(() => actions.drop(id)) }, icon("close"), "Drop"),
    );
  return { node, update };
}

function thinkingView() {
  const node = h("p", { class: "thinking" }, h("span", {}), h("span", {}), h("span", {}), h("span", { class: "visually-hidden" }, "Working"));
  return { node, update: () => {} };
}
