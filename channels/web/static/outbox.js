// Messages on their way: kept until the bridge has said that it has them, and tried again under the same id.

import { createConversation, postMessage } from "./api.js";

const KEY = "threadbridge.outbox";
const LONGEST_WAIT_MILLISECONDS = 15_000;

export class Outbox {
  /** `onChange(message)` is called whenever a message's `state` changes: sending, waiting, failed, sent. */
  constructor(onChange) {
    this.onChange = onChange;
    this.messages = load();
    this.isBusy = false;
    this.failures = 0;
    window.addEventListener("online", () => this.flush());
  }

  of(conversation) {
    return this.messages.filter((message) => message.conversation === conversation);
  }

  /** The conversations with a message that was not sent. */
  get failed() {
    return this.messages.filter((message) => message.state === "failed").map((message) => message.conversation);
  }

  add(message) {
    this.messages.push({ ...message, state: "sending" });
    this.save();
    this.flush();
  }

  retry(clientId) {
    const message = this.messages.find((candidate) => candidate.client_id === clientId);
    if (message) this.mark(message, "sending");
    this.flush();
  }

  discard(clientId) {
    this.messages = this.messages.filter((message) => message.client_id !== clientId);
    this.save();
  }

  /** Send what waits: in order within a conversation, since the order is part of what was said. */
  async flush() {
    clearTimeout(this.timer);
    if (this.isBusy) return;
    this.isBusy = true;
    const stuck = new Set();
    for (let next = this.next(stuck); next; next = this.next(stuck)) {
      if (!(await this.send(next))) stuck.add(next.conversation);
    }
    this.isBusy = false;
    this.failures = stuck.size ? this.failures + 1 : 0;
    if (!stuck.size) return;
    const wait = Math.min(1_000 * 2 ** (this.failures - 1), LONGEST_WAIT_MILLISECONDS);
    this.timer = setTimeout(() => this.flush(), wait);
  }

  next(stuck) {
    return this.messages.find((message) => message.state !== "failed" && !stuck.has(message.conversation));
  }

  /** Gives false when it makes sense to try again later. */
  async send(message) {
    try {
      if (message.is_first) await createConversation(message.conversation);
      await postMessage(message.conversation, {
        client_id: message.client_id,
        text: message.text,
        files: message.files.map((file) => file.ticket),
      });
    } catch (error) {
      this.mark(message, error.isPassing ? "waiting" : "failed", error.message);
      return !error.isPassing;
    }
    this.discard(message.client_id);
    this.onChange({ ...message, state: "sent" });
    return true;
  }

  mark(message, state, reason = "") {
    message.state = state;
    message.reason = reason;
    this.save();
    this.onChange(message);
  }

  save() {
    localStorage.setItem(KEY, JSON.stringify(this.messages));
  }
}

function load() {
  try {
    return JSON.parse(localStorage.getItem(KEY)) ?? [];
  } catch {
    return [];
  }
}
