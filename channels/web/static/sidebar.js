// The list of conversations; on a narrow screen a drawer.

import { ago, h } from "./elements.js";

const NARROW = matchMedia("(max-width: 820px)");

export class Sidebar {
  /** `actions`: open(id), startNew(). */
  constructor(parts, actions) {
    this.parts = parts;
    this.actions = actions;
    this.current = null;
    this.conversations = [];
    parts.newButton.addEventListener("click", () => this.leaveTo(() => actions.startNew()));
    parts.openButton.addEventListener("click", () => this.toggle(true));
    parts.closeButton.addEventListener("click", () => this.toggle(false));
    parts.veil.addEventListener("click", () => this.toggle(false));
    document.addEventListener("keydown", (event) => event.key === "Escape" && this.isOpen && this.toggle(false));
    NARROW.addEventListener("change", () => this.toggle(false));
    this.toggle(false);
  }

  show(conversations, current) {
    this.conversations = conversations;
    this.current = current;
    const focused = this.parts.list.contains(document.activeElement) ? document.activeElement.getAttribute("href") : null;
    this.parts.empty.hidden = conversations.length > 0;
    this.parts.list.replaceChildren(...conversations.map((conversation) => this.line(conversation)));
    if (focused) this.parts.list.querySelector(`[href="${focused}"]`)?.focus();
  }

  /** The open conversation is another one. */
  mark(current) {
    this.show(this.conversations, current);
  }

  titleOf(id) {
    return this.conversations.find((conversation) => conversation.id === id)?.title || "New conversation";
  }

  line(conversation) {
    const isCurrent = conversation.id === this.current;
    const side = conversation.running
      ? h("span", { class: "running-dot", title: "Working" }, h("span", { class: "visually-hidden" }, "working"))
      : h("span", { class: "line-time" }, ago(conversation.updated_at));
    const link = h(
      "a",
      { href: `#${conversation.id}`, class: "line", "aria-current": isCurrent ? "page" : null },
      h("span", { class: "line-title" }, conversation.title || "New conversation"),
      side,
    );
    link.addEventListener("click", (event) => {
      event.preventDefault();
      this.leaveTo(() => this.actions.open(conversation.id));
    });
    return h("li", {}, link);
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
