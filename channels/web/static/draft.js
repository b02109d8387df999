// What is being written in one conversation: its text, which outlives a reload, its files, and whether it goes out by itself.

import { Attachments } from "./attachments.js";

const KEY = "threadbridge.draft.";

export class Draft {
  /** `place` is the conversation's id, "" for a new one. `onFilesChange(draft, isByPerson)` says that its files changed. */
  constructor(place, onFilesChange) {
    this.place = place;
    this.conversation = place || null; // a new conversation that files are uploaded for has its id before it has its place
    this.written = localStorage.getItem(KEY + place) ?? "";
    this.isQueued = false;
    this.attachments = new Attachments((isByPerson) => onFilesChange(this, isByPerson));
  }

  get text() {
    return this.written;
  }

  set text(text) {
    this.written = text;
    if (text) localStorage.setItem(KEY + this.place, text);
    else localStorage.removeItem(KEY + this.place);
  }

  get isEmpty() {
    return this.text.trim() === "" && this.attachments.isEmpty;
  }

  /** In a word: ready, uploading, queued (to go out when the uploads are done) or failed (a file is in the way). */
  get state() {
    if (this.attachments.failed.length) return "failed";
    if (this.isQueued) return "queued";
    return this.attachments.isUploading ? "uploading" : "ready";
  }

  /** The new conversation has its place now. */
  moveTo(place) {
    localStorage.removeItem(KEY + this.place);
    this.place = place;
    this.conversation = place;
    this.text = this.written;
  }

  /** What is to be sent; nothing of it stays. */
  take() {
    const content = { text: this.text.trim(), files: this.attachments.take() };
    this.text = "";
    this.isQueued = false;
    return content;
  }
}
