// The line above the composer: whether the bridge can be heard.

import { h } from "./elements.js";

const LOSS_SHOWN_AFTER_MILLISECONDS = 700;

export class ConnectionLine {
  constructor(line) {
    this.line = line;
    this.isSignedOut = false;
  }

  /** "open" or "lost"; a short loss is not worth a word. */
  show(state) {
    clearTimeout(this.timer);
    if (this.isSignedOut) return;
    if (state === "open") this.line.hidden = true;
    else this.timer = setTimeout(() => this.say("Reconnecting…"), LOSS_SHOWN_AFTER_MILLISECONDS);
  }

  /** Nothing will work until the page is loaded anew, whatever the connection does. */
  signedOut() {
    clearTimeout(this.timer);
    this.isSignedOut = true;
    this.say("You are not signed in any more. ", h("button", { type: "button", class: "link", onclick: () => location.reload() }, "Reload"));
  }

  say(...words) {
    this.line.replaceChildren(...words);
    this.line.hidden = false;
  }
}
