// The messages of one conversation, in order, kept in step with what the bridge says.

import { h, icon, size } from "./elements.js";
import { ReplyView, fileCard } from "./reply.js";

const LONG_CHARACTERS = 1_800;
const LONG_LINES = 20;
const STATE_WORDS = { sending: "Sending…", waiting: "Waiting for the connection…", failed: "Not sent." };

export class Timeline {
  /** `actions`: press(answer), sendNow(run), drop(run), ratingOf(runId), rate(feedback), retry(clientId), discard(clientId). */
  constructor(list, actions) {
    this.list = list;
    this.actions = actions;
    this.items = [];
  }

  clear() {
    this.items = [];
    this.list.replaceChildren();
  }

  get isEmpty() {
    return this.items.length === 0;
  }

  /** The replies that are not final yet. */
  get running() {
    return this.items.filter((item) => item.data.kind === "reply" && item.data.phase !== "final").map((item) => item.data);
  }

  /** Whether the last word is the person's and the bridge has it. */
  get endsWithSentMessage() {
    const last = this.items.at(-1)?.data;
    return last?.kind === "message" && (last.state ?? "sent") === "sent";
  }

  /** Whether a form waits that messages fill in: then one that was sent brings no answer yet. */
  get hasOpenForm() {
    const parts = this.items.flatMap((item) => item.data.parts ?? []);
    return parts.some((part) => part.kind === "clarification" && part.state === "open" && part.fields.length);
  }

  hasMessage(id) {
    return this.find(messageKey(id)) !== undefined;
  }

  hasReply(id) {
    return this.find(replyKey(id)) !== undefined;
  }

  /**
   * Take over the bridge's list. What it does not know yet stays: messages on their way and, while it says that it works
   * (`isRunning`), an answer that goes on: after a restart it is delivered again a little later.
   */
  replace(datas, isRunning) {
    const known = new Set(datas.map(keyOf));
    const stays = ({ kind, phase, client_id }) => (kind === "reply" ? isRunning && phase !== "final" : client_id !== undefined);
    const kept = this.items.filter((item) => !known.has(item.key) && stays(item.data));
    this.items = datas.map((data) => this.drawn(data));
    for (const item of kept) this.insert(item);
    this.arrange();
  }

  /** Show the newest state of a reply. */
  applySnapshot(snapshot) {
    this.upsert({ ...snapshot, kind: "reply" });
  }

  /** Show a message that is on its way, or its new state. */
  applyMessage(message) {
    this.upsert({ kind: "message", message_id: message.client_id, ...message });
  }

  remove(messageId) {
    this.items = this.items.filter((item) => item.key !== messageKey(messageId));
    this.arrange();
  }

  upsert(data) {
    const isNew = !this.find(keyOf(data));
    const item = this.drawn(data);
    if (isNew) this.insert(item);
    this.arrange();
  }

  drawn(data) {
    const key = keyOf(data);
    const item = this.find(key) ?? { key, view: data.kind === "reply" ? new ReplyView(this.actions) : new MessageView(this.actions) };
    item.data = data;
    item.view.update(data);
    return item;
  }

  /** A reply goes below the message it answers and its other answers; everything else to the end. */
  insert(item) {
    const asked = item.data.reply_to ? this.items.findIndex((other) => other.key === messageKey(item.data.reply_to)) : -1;
    if (asked < 0) {
      this.items.push(item);
      return;
    }
    let place = asked + 1;
    while (this.items[place]?.data.kind === "reply") place += 1;
    this.items.splice(place, 0, item);
  }

  arrange() {
    this.items.forEach((item, index) => {
      const there = this.list.children[index];
      if (there !== item.view.node) this.list.insertBefore(item.view.node, there ?? null);
    });
    while (this.list.children.length > this.items.length) this.list.lastElementChild.remove();
  }

  find(key) {
    return this.items.find((item) => item.key === key);
  }
}

class MessageView {
  constructor(actions) {
    this.actions = actions;
    this.isUnfolded = false;
    this.node = h("li", { class: "message" });
  }

  update(message) {
    this.node.dataset.state = message.state ?? "sent";
    this.node.replaceChildren(
      ...[
        h("span", { class: "visually-hidden" }, "You wrote"),
        message.files.length ? h("div", { class: "message-files" }, ...message.files.map(sentFile)) : null,
        ...(message.text ? this.words(message.text) : []),
        this.fate(message),
      ].filter(Boolean),
    );
  }

  /** A long paste is folded: it must not push the answer off the screen. */
  words(text) {
    const bubble = h("div", { class: "bubble" }, text);
    if (text.length < LONG_CHARACTERS && text.split("\n").length < LONG_LINES) return [bubble];
    const fold = h("button", { type: "button", class: "link fold" });
    const show = () => {
      bubble.classList.toggle("is-folded", !this.isUnfolded);
      fold.textContent = this.isUnfolded ? "Show less" : "Show all";
      fold.setAttribute("aria-expanded", this.isUnfolded);
    };
    fold.addEventListener("click", () => {
      this.isUnfolded = !this.isUnfolded;
      show();
    });
    show();
    return [bubble, fold];
  }

  fate(message) {
    const words = STATE_WORDS[message.state];
    if (!words) return null;
    const line = h("p", { class: "fate" }, message.state === "failed" ? icon("warning") : null, `${words} ${message.reason && message.state === "failed" ? message.reason : ""}`);
    if (message.state === "sending") return line;
    line.append(
      h("button", { type: "button", class: "link", onclick: () => this.actions.retry(message.client_id) }, "Try again"),
      h("button", { type: "button", class: "link", onclick: () => this.actions.discard(message.client_id) }, "Discard"),
    );
    return line;
  }
}

function sentFile(file) {
  if (file.url) return fileCard(file, new URL(`${file.url}&download=1`, document.baseURI).href);
  return h("span", { class: "file-card" }, h("span", { class: "file-icon" }, icon("file")), h("span", { class: "file-words" }, h("span", { class: "file-name" }, file.name), h("span", { class: "file-size" }, size(file.size_bytes))));
}

function keyOf(data) {
  return data.kind === "reply" ? replyKey(data.reply_id) : messageKey(data.message_id);
}

function replyKey(id) {
  return `reply ${id}`;
}

function messageKey(id) {
  return `message ${id}`;
}
