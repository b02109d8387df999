// The list of conversations; on a narrow screen a drawer.

import { ago, h, icon } from "./elements.js";

export const UNTITLED = "New conversation";

const NARROW = matchMedia("(max-width: 820px)");

export class Sidebar {
  /** `actions`: open(id), startNew(). */
  constructor(parts, actions) {
    this.parts = parts;
    this.actions = actions;
    this.current = null;
    this.conversations = [];
    this.expected = new Map(); // titles by id: what the bridge does not list yet, or not by a name
    this.warned = new Set();
    parts.newButton.addEventListener("click", () => this.leaveTo(() => actions.startNew()));
    parts.openButton.addEventListener("click", () => this.toggle(true));
    parts.closeButton.addEventListener("click", () => this.toggle(false));
    parts.veil.addEventListener("click", () => this.toggle(false));
    document.addEventListener("keydown", (event) => event.key === "Escape" && this.isOpen && this.toggle(false));
    NARROW.addEventListener("change", () => this.toggle(false));
    this.toggle(false);
  }

  /** Take over the bridge's list. */
  show(conversations) {
    this.conversations = conversations;
    for (const { id, title } of conversations) if (title) this.expected.delete(id);
    this.draw();
  }

  /** A message is on its way to this conversation: it is listed from now on, under this title until it has one. */
  expect(id, title) {
    if (title === null) this.expected.delete(id);
    else if (!this.expected.has(id) && !this.conversations.find((conversation) => conversation.id === id)?.title) this.expected.set(id, title);
    this.draw();
  }

  /** In these conversations something was not sent. */
  warn(ids) {
    const isNew = ids.length !== this.warned.size || ids.some((id) => !this.warned.has(id));
    this.warned = new Set(ids);
    if (isNew) this.draw();
  }

  draw() {
    const lines = this.lines();
    const focused = this.parts.list.contains(document.activeElement) ? document.activeElement.getAttribute("href") : null;
    this.parts.empty.hidden = lines.length > 0;
    this.parts.list.replaceChildren(...lines.map((conversation) => this.line(conversation)));
    if (focused) this.parts.list.querySelector(`[href="${focused}"]`)?.focus();
  }

  /** What the bridge lists, and above it what it will list. */
  lines() {
    const listed = new Set(this.conversations.map((conversation) => conversation.id));
    const unlisted = [...this.expected].filter(([id]) => !listed.has(id)).map(([id, title]) => ({ id, title, updated_at: new Date().toISOString() }));
    return [...unlisted.reverse(), ...this.conversations];
  }

  /** The open conversation is another one. */
  mark(current) {
    this.current = current;
    this.draw();
  }

  titleOf(id) {
    return this.conversations.find((conversation) => conversation.id === id)?.title || this.expected.get(id) || UNTITLED;
  }

  line(conversation) {
    const isCurrent = conversation.id === this.current;
    const link = h(
      "a",
      { href: `#${conversation.id}`, class: "line", "aria-current": isCurrent ? "page" : null },
      h("span", { class: "line-title" }, this.titleOf(conversation.id)),
      this.sign(conversation),
    );
    link.addEventListener("click", (event) => {
      event.preventDefault();
      this.leaveTo(() => this.actions.open(conversation.id));
    });
    return h("li", {}, link);
  }

  sign({ id, running, updated_at }) {
    if (this.warned.has(id)) return h("span", { class: "line-warning", title: "Not sent" }, icon("warning"), h("span", { class: "visually-hidden" }, "not sent"));
    if (running) return h("span", { class: "running-dot", title: "Working" }, h("span", { class: "visually-hidden" }, "working"));
    return h("span", { class: "line-time" }, ago(updated_at));
  }

  leaveTo(go) {
    if (NARROW.matches) this.toggle(false);
    go();
  }

  get isOpen() {
    return this.parts.sidebar.dataset.open === "true";
  }

  toggle(isOpen) {
    const wasOpen = this.isOpen;
    this.parts.sidebar.dataset.open = isOpen;
    this.parts.sidebar.inert = NARROW.matches && !isOpen;
    this.parts.stage.inert = NARROW.matches && isOpen;
    this.parts.veil.hidden = !(NARROW.matches && isOpen);
    this.parts.openButton.setAttribute("aria-expanded", isOpen);
    if (isOpen) this.parts.closeButton.focus();
    else if (wasOpen) this.parts.openButton.focus();
  }
}
