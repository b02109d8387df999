// Files before they are sent: uploading with progress, shown, and removable.

import { upload } from "./api.js";
import { h, icon, size } from "./elements.js";

export class Attachments {
  /** `onChange()` is called whenever something is added, done, failed or removed. */
  constructor(list, onChange) {
    this.list = list;
    this.onChange = onChange;
    this.items = [];
  }

  get isUploading() {
    return this.items.some((item) => item.state === "uploading");
  }

  get isEmpty() {
    return this.items.length === 0;
  }

  /** Begin to upload; `conversation` must exist. */
  add(conversation, files) {
    for (const file of files) this.begin(conversation, file);
    this.changed();
  }

  /** The uploaded files, which are no longer kept here. */
  take() {
    const done = this.items.filter((item) => item.state === "done").map((item) => item.receipt);
    this.clear();
    return done;
  }

  clear() {
    for (const item of this.items) this.drop(item);
    this.items = [];
    this.changed();
  }

  begin(conversation, file) {
    const item = { file, state: "uploading", preview: file.type.startsWith("image/") ? URL.createObjectURL(file) : null };
    item.node = this.draw(item);
    this.items.push(item);
    const { promise, abort } = upload(conversation, file, (done) => (item.bar.value = done));
    item.abort = abort;
    promise.then(
      (receipt) => this.settle(item, "done", { receipt }),
      (error) => this.settle(item, "failed", { reason: error.message }),
    );
  }

  settle(item, state, more) {
    if (!this.items.includes(item)) return; // it was removed meanwhile
    Object.assign(item, { state, ...more });
    item.node.dataset.state = state;
    item.status.textContent = state === "failed" ? item.reason : size(item.file.size);
    item.bar.hidden = true;
    this.changed();
  }

  draw(item) {
    item.bar = h("progress", { max: "1", value: "0", "aria-label": `Uploading ${item.file.name}` });
    item.status = h("span", { class: "attachment-status" }, size(item.file.size));
    const remove = h("button", { type: "button", class: "icon-button", "aria-label": `Remove ${item.file.name}`, title: "Remove" }, icon("close"));
    remove.addEventListener("click", () => this.remove(item));
    const sign = item.preview ? h("img", { class: "attachment-preview", src: item.preview, alt: "" }) : h("span", { class: "file-icon" }, icon("file"));
    const words = h("span", { class: "file-words" }, h("span", { class: "file-name" }, item.file.name), item.status, item.bar);
    return h("li", { class: "attachment", data: { state: "uploading" } }, sign, words, remove);
  }

  remove(item) {
    this.drop(item);
    this.items = this.items.filter((other) => other !== item);
    this.changed();
  }

  drop(item) {
    if (item.state === "uploading") item.abort();
    if (item.preview) URL.revokeObjectURL(item.preview);
  }

  changed() {
    this.list.replaceChildren(...this.items.map((item) => item.node));
    this.list.hidden = this.isEmpty;
    this.onChange();
  }
}
