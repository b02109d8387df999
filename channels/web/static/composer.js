// Where a message is written: text, files by button, drop and paste, and sending.

import { Attachments } from "./attachments.js";

const DRAFT = "threadbridge.draft.";

export class Composer {
  /** `parts` are the elements; `actions`: send({text, files}), conversationForUpload() → promise of an id. */
  constructor(parts, actions) {
    this.parts = parts;
    this.actions = actions;
    this.draftKey = DRAFT;
    this.attachments = new Attachments(parts.attachments, () => this.refresh());
    this.listen();
    this.refresh();
  }

  /** Continue the draft of this conversation ("" for a new one). */
  open(conversation) {
    this.draftKey = DRAFT + conversation;
    this.attachments.clear();
    this.parts.text.value = localStorage.getItem(this.draftKey) ?? "";
    this.refresh();
  }

  /** The new conversation got its id; the draft goes with it. */
  rename(conversation) {
    localStorage.removeItem(this.draftKey);
    this.draftKey = DRAFT + conversation;
    this.keepDraft();
  }

  focus() {
    if (!matchMedia("(pointer: coarse)").matches) this.parts.text.focus();
  }

  /** Put a text in, ready to be changed or sent. */
  suggest(text) {
    this.parts.text.value = text;
    this.keepDraft();
    this.refresh();
    this.parts.text.focus();
  }

  chooseFiles() {
    this.parts.fileInput.click();
  }

  listen() {
    const { form, text, attach, fileInput } = this.parts;
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.submit();
    });
    text.addEventListener("keydown", (event) => this.onKey(event));
    text.addEventListener("input", () => {
      this.keepDraft();
      this.refresh();
    });
    text.addEventListener("paste", (event) => this.onPaste(event));
    attach.addEventListener("click", () => this.chooseFiles());
    fileInput.addEventListener("change", () => {
      this.addFiles([...fileInput.files]);
      fileInput.value = "";
    });
    this.listenForDrops();
  }

  listenForDrops() {
    const { stage, dropZone } = this.parts;
    const hasFiles = (event) => event.dataTransfer?.types.includes("Files");
    const show = (event) => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      dropZone.hidden = false;
    };
    stage.addEventListener("dragenter", show);
    stage.addEventListener("dragover", show);
    dropZone.addEventListener("dragleave", () => (dropZone.hidden = true));
    stage.addEventListener("drop", (event) => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      dropZone.hidden = true;
      this.addFiles([...event.dataTransfer.files]);
    });
  }

  onKey(event) {
    const isPlainEnter = event.key === "Enter" && !event.shiftKey && !event.isComposing;
    if (!isPlainEnter || matchMedia("(pointer: coarse)").matches) return;
    event.preventDefault();
    this.submit();
  }

  onPaste(event) {
    const files = [...(event.clipboardData?.files ?? [])];
    if (!files.length) return;
    event.preventDefault();
    this.addFiles(files);
  }

  async addFiles(files) {
    if (!files.length) return;
    this.attachments.add(await this.actions.conversationForUpload(), files);
    this.parts.text.focus();
  }

  submit() {
    if (!this.canSend()) return;
    const text = this.parts.text.value.trim();
    this.parts.text.value = "";
    localStorage.removeItem(this.draftKey);
    this.actions.send({ text, files: this.attachments.take() });
    this.refresh();
  }

  canSend() {
    const hasFile = this.attachments.items.some((item) => item.state === "done");
    return !this.attachments.isUploading && (this.parts.text.value.trim() !== "" || hasFile);
  }

  keepDraft() {
    const text = this.parts.text.value;
    if (text) localStorage.setItem(this.draftKey, text);
    else localStorage.removeItem(this.draftKey);
  }

  refresh() {
    const { text, send, hint } = this.parts;
    send.disabled = !this.canSend();
    hint.textContent = this.attachments.isUploading ? "Uploading…" : "Enter sends, Shift + Enter starts a new line";
    text.style.height = "auto";
    text.style.height = `${text.scrollHeight}px`;
  }
}
