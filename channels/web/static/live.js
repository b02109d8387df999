// Listening to one conversation: snapshots as they come, and coming back after the connection was lost.

import { eventsAddress } from "./api.js";

const SILENCE_MILLISECONDS = 45_000; // the server says something every 15 s; three missed means a dead connection
const LONGEST_WAIT_MILLISECONDS = 10_000;

export class LiveStream {
  /** `handlers`: onSnapshot(snapshot), onBack() after a loss, onState("open" | "lost"). */
  constructor(conversation, handlers) {
    this.conversation = conversation;
    this.handlers = handlers;
    this.failures = 0;
    this.wasLost = false;
    this.retryNow = () => this.source?.readyState !== EventSource.OPEN && this.connect();
    this.onVisibility = () => (document.hidden ? this.pause() : this.resume());
    window.addEventListener("online", this.retryNow);
    document.addEventListener("visibilitychange", this.onVisibility);
    this.connect();
  }

  close() {
    window.removeEventListener("online", this.retryNow);
    document.removeEventListener("visibilitychange", this.onVisibility);
    this.disconnect();
  }

  connect() {
    this.disconnect();
    const source = new EventSource(eventsAddress(this.conversation));
    this.source = source;
    source.onopen = () => this.opened();
    source.onerror = () => this.lost();
    source.addEventListener("reply", (event) => {
      this.heard();
      this.handlers.onSnapshot(JSON.parse(event.data));
    });
    source.addEventListener("alive", () => this.heard());
  }

  disconnect() {
    clearTimeout(this.retryTimer);
    clearTimeout(this.silenceTimer);
    this.source?.close();
    this.source = null;
  }

  // A hidden page lets its connection go: browsers allow only six to one server, and tabs would starve each other.
  pause() {
    this.wasLost = true;
    this.disconnect();
  }

  resume() {
    if (!this.source) this.connect();
  }

  opened() {
    this.failures = 0;
    this.heard();
    this.handlers.onState("open");
    if (this.wasLost) this.handlers.onBack();
    this.wasLost = false;
  }

  heard() {
    clearTimeout(this.silenceTimer);
    this.silenceTimer = setTimeout(() => this.connectionDied(), SILENCE_MILLISECONDS);
  }

  connectionDied() {
    this.lost();
    this.connect();
  }

  lost() {
    this.wasLost = true;
    this.handlers.onState("lost");
    if (this.source?.readyState !== EventSource.CLOSED) return; // the browser tries again by itself
    this.failures += 1;
    const wait = Math.min(1_000 * 2 ** (this.failures - 1), LONGEST_WAIT_MILLISECONDS);
    clearTimeout(this.retryTimer);
    this.retryTimer = setTimeout(() => this.connect(), wait);
  }
}
