// The files of one draft: uploading from the moment they were chosen, shown, tried again, and removable.

import { ApiError, upload } from "./api.js";
import { h, icon, size } from "./elements.js";

const MOST_FILES = 20; // the bridge takes no more with one message
const turns = { free: 3, waiting: [] }; // browsers keep six connections to a server: what is said meanwhile must find one

export class Attachments {
  /** `onChange(isByPerson)` is called when the person added, removed or tried again a file, and when an upload ended. */
  constructor(onChange) {
    this.onChange = onChange;
    this.items = [];
  }

  get isUploading() {
    return this.items.some((item) => item.state === "uploading");
  }

  get failed() {
    return this.items.filter((item) => item.state === "failed");
  }

  get isEmpty() {
    return this.items.length === 0;
  }

  get nodes() {
    return this.items.map((item) => item.node);
  }

  /** Upload these. `conversation()` gives a promise of the conversation's id; a file is here before that is kept. */
  add(files, conversation) {
    const where = once(conversation);
    for (const file of files) {
      const item = { file, conversation, preview: file.type.startsWith("image/") ? URL.createObjectURL(file) : null };
      item.node = this.draw(item);
      this.items.push(item);
      if (this.items.length > MOST_FILES) this.settle(item, "failed", { error: new ApiError(`No more than ${MOST_FILES} files go with one message.`, 0) });
      else this.begin(item, where);
    }
    this.onChange(true);
  }

  /** The uploaded files, which are no longer kept here. */
  take() {
    const receipts = this.items.filter((item) => item.state === "done").map((item) => item.receipt);
    for (const item of this.items) this.drop(item);
    this.items = [];
    return receipts;
  }

  async begin(item, where) {
    const aborting = new AbortController();
    item.abort = () => aborting.abort();
    this.settle(item, "uploading");
    try {
      const id = await where();
      const receipt = await inTurn(() => upload(id, item.file, (part) => (item.bar.value = part), aborting.signal));
      this.settle(item, "done", { receipt });
    } catch (error) {
      this.settle(item, "failed", { error });
    }
    if (this.items.includes(item)) this.onChange(false);
  }

  settle(item, state, more) {
    Object.assign(item, { state, ...more });
    item.node.dataset.state = state;
    item.status.textContent = state === "failed" ? item.error.message : size(item.file.size);
    item.bar.hidden = state !== "uploading";
    item.bar.value = 0;
    item.retry.hidden = !(state === "failed" && item.error.isPassing);
  }

  tryAgain(item) {
    const isTooMany = this.items.indexOf(item) >= MOST_FILES;
    if (!isTooMany) this.begin(item, item.conversation);
    this.onChange(true);
  }

  remove(item) {
    this.drop(item);
    this.items = this.items.filter((other) => other !== item);
    this.onChange(true);
  }

  drop(item) {
    if (item.state === "uploading") item.abort();
    if (item.preview) URL.revokeObjectURL(item.preview);
  }

  draw(item) {
    const { name } = item.file;
    item.bar = h("progress", { max: "1", value: "0", "aria-label": `Uploading ${name}` });
    item.status = h("span", { class: "attachment-status" });
    item.retry = button("retry", "Try again", name, () => this.tryAgain(item));
    const remove = button("close", "Remove", name, () => this.remove(item));
    const sign = item.preview ? h("img", { class: "attachment-preview", src: item.preview, alt: "" }) : h("span", { class: "file-icon" }, icon("file"));
    const words = h("span", { class: "file-words" }, h("span", { class: "file-name" }, name), item.status, item.bar);
    return h("li", { class: "attachment" }, sign, words, item.retry, remove);
  }
}

function button(sign, words, name, onclick) {
  return h("button", { type: "button", class: "icon-button", "aria-label": `${words}: ${name}`, title: words, onclick }, icon(sign));
}

/** Do this when fewer than so many others are being done. */
async function inTurn(work) {
  if (turns.free > 0) turns.free -= 1;
  else await new Promise((resolve) => turns.waiting.push(resolve));
  try {
    return await work();
  } finally {
    const next = turns.waiting.shift();
    if (next) next();
    else turns.free += 1;
  }
}

/** The function's one result, however often it is asked for. */
function once(make) {
  let made;
  return () => (made ??= make());
}
