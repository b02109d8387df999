// Where a message is written: text, files by button, drop and paste, and sending, at once or when the files are there.

import { Draft } from "./draft.js";
import { announce, icon } from "./elements.js";

const HINTS = {
  ready: "Enter sends, Shift + Enter starts a new line",
  uploading: "Uploading…",
  queued: "Will be sent when the upload is done",
};
const SEND = { icon: "send", words: "Send" };
const TAKE_BACK = { icon: "clock", words: "Waiting for the upload. Press to take it back" };

export class Composer {
  /** `parts` are the elements; `actions`: send(draft), conversationForUpload() → promise of the open one's id, filesChanged(). */
  constructor(parts, actions) {
    this.parts = parts;
    this.actions = actions;
    this.drafts = new Map(); // by place: those with files go on while another conversation is open
    this.open("");
    this.listen();
  }

  /** Continue the draft of this conversation ("" for a new one). */
  open(place) {
    if (this.draft?.attachments.isEmpty) this.drafts.delete(this.draft.place);
    if (!this.drafts.has(place)) this.drafts.set(place, new Draft(place, (...change) => this.onFilesChange(...change)));
    this.draft = this.drafts.get(place);
    this.parts.text.value = this.draft.text;
    this.refresh();
  }

  /** The new conversation with this id is known from now on: its draft goes with it. */
  settle(conversation) {
    const draft = this.drafts.get("");
    if (draft?.conversation !== conversation) return;
    this.drafts.delete("");
    draft.moveTo(conversation);
    this.drafts.set(conversation, draft);
  }

  /** The conversations with a message that a failed file holds up. */
  get heldUp() {
    return [...this.drafts.values()].filter((draft) => draft.state === "failed").map((draft) => draft.place);
  }

  focus() {
    if (!matchMedia("(pointer: coarse)").matches) this.parts.text.focus();
  }

  /** Put a text in, ready to be changed or sent. */
  suggest(text) {
    this.parts.text.value = text;
    this.onInput();
    this.parts.text.focus();
  }

  chooseFiles() {
    this.parts.fileInput.click();
  }

  listen() {
    const { form, text, send, attach, fileInput } = this.parts;
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.submit();
    });
    send.addEventListener("click", (event) => event.detail > 1 && event.preventDefault()); // a double click is one press
    text.addEventListener("keydown", (event) => this.onKey(event));
    text.addEventListener("input", () => this.onInput());
    text.addEventListener("paste", (event) => this.onPaste(event));
    attach.addEventListener("click", () => this.chooseFiles());
    fileInput.addEventListener("change", () => {
      this.addFiles([...fileInput.files]);
      fileInput.value = "";
    });
    document.addEventListener("keydown", (event) => event.key === "Escape" && !this.parts.stage.inert && this.takeBack(this.draft));
    window.addEventListener("beforeunload", (event) => this.hasFiles && event.preventDefault()); // a file that was not sent is lost
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
    if (!event.repeat) this.submit();
  }

  onInput() {
    this.draft.text = this.parts.text.value;
    this.takeBack(this.draft); // whoever writes on has not finished: half a thought must not go out by itself
    this.refresh();
  }

  onPaste(event) {
    const files = [...(event.clipboardData?.files ?? [])];
    if (!files.length) return;
    event.preventDefault();
    this.addFiles(files);
  }

  addFiles(files) {
    if (!files.length) return;
    this.draft.attachments.add(files, () => this.actions.conversationForUpload());
    this.parts.text.focus();
  }

  submit() {
    const { draft } = this;
    if (draft.isEmpty) return;
    if (draft.state === "queued") this.takeBack(draft);
    else if (draft.state === "uploading") this.queue(draft);
    else if (draft.state === "failed") this.complain(draft);
    else this.send(draft);
  }

  queue(draft) {
    draft.isQueued = true;
    announce(HINTS.queued);
    this.refresh();
  }

  takeBack(draft) {
    if (!draft.isQueued) return;
    draft.isQueued = false;
    announce("It will not be sent by itself");
    this.refresh();
  }

  /** It cannot be sent as it is: say so where the person looks. */
  complain(draft) {
    draft.isQueued = false;
    announce(`Not sent. ${problem(draft)}`);
    for (const { node } of draft.attachments.failed) nudge(node);
  }

  send(draft) {
    this.actions.send(draft);
    if (draft === this.draft) this.parts.text.value = "";
    else this.drafts.delete(draft.place);
    this.refresh();
  }

  onFilesChange(draft, isByPerson) {
    if (isByPerson) this.takeBack(draft);
    else if (draft.isQueued && draft.state === "failed") this.complain(draft);
    else if (draft.isQueued && !draft.attachments.isUploading) this.send(draft);
    this.refresh();
    if (isByPerson) this.focus(); // the button that was pressed may be gone
    this.actions.filesChanged();
  }

  get hasFiles() {
    return [...this.drafts.values()].some((draft) => !draft.attachments.isEmpty);
  }

  refresh() {
    const { form, text, send, hint, attachments } = this.parts;
    const { state } = this.draft;
    const isNew = form.dataset.state !== state;
    form.dataset.state = state;
    hint.textContent = state === "failed" ? problem(this.draft) : HINTS[state];
    const { icon: sign, words } = state === "queued" ? TAKE_BACK : SEND;
    if (isNew) send.replaceChildren(icon(sign));
    send.setAttribute("aria-label", words);
    send.title = words;
    send.disabled = this.draft.isEmpty;
    this.showFiles(attachments);
    text.style.height = "auto";
    text.style.height = `${text.scrollHeight}px`;
  }

  /** Only what changed is moved: a button that has the focus keeps it. */
  showFiles(list) {
    const { nodes } = this.draft.attachments;
    for (const there of [...list.children]) if (!nodes.includes(there)) there.remove();
    list.append(...nodes.slice(list.children.length));
    list.hidden = nodes.length === 0;
  }
}

function nudge(node) {
  node.scrollIntoView({ block: "nearest" });
  if (!matchMedia("(prefers-reduced-motion: reduce)").matches) node.animate({ translate: ["0", "4px", "-4px", "0"] }, 240);
}

/** What holds the message up, and what can be done. */
function problem(draft) {
  const { failed } = draft.attachments;
  const what = failed.length === 1 ? "A file was not uploaded" : `${failed.length} files were not uploaded`;
  const it = failed.length === 1 ? "it" : "them";
  return failed.some((item) => item.error.isPassing) ? `${what}: try again, or remove ${it}` : `${what}: remove ${it} to send the message`;
}
