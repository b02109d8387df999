// The page: which conversation is open, and what happens between its parts.

import { ApiError, createConversation, listConversations, postFeedback, postPress, postSendNow, postStop, readMessages } from "./api.js";
import { Composer } from "./composer.js";
import { ConnectionLine } from "./connection.js";
import { announce, newId, openingWords } from "./elements.js";
import { LiveStream } from "./live.js";
import { Outbox } from "./outbox.js";
import { byId, composerParts, drawIcons, sidebarParts } from "./parts.js";
import { spokenText } from "./reply.js";
import { Scrolling } from "./scrolling.js";
import { Sidebar, UNTITLED } from "./sidebar.js";
import { suggestionCards } from "./suggestions.js";
import { Timeline } from "./timeline.js";

const LIST_REFRESH_MILLISECONDS = 30_000;

class App {
  constructor() {
    this.ratings = {}; // of the open conversation's answers, by run
    this.current = null; // the open conversation's id; null while it is new and nothing was sent
    this.isCreated = false; // whether the bridge knows it
    this.connection = new ConnectionLine(byId("connection"));
    this.scrolling = new Scrolling(byId("scroller"), byId("jump"));
    this.timeline = new Timeline(byId("timeline"), {
      press: (answer, options) => this.press(answer, options),
      ratingOf: (runId) => this.ratings[runId] ?? 0,
      rate: (feedback) => this.rate(feedback),
      sendNow: (run) => postSendNow(this.current, { client_id: newId(), run_id: run }),
      drop: (run) => postStop(this.current, { client_id: newId(), run_id: run }),
      retry: (clientId) => this.retry(clientId),
      discard: (clientId) => this.discard(clientId),
    });
    this.outbox = new Outbox((message) => this.onMessageChanged(message));
    this.composer = new Composer(composerParts(), {
      send: (draft) => this.send(draft),
      conversationForUpload: () => this.ensureCreated(),
      filesChanged: () => this.redraw(),
    });
    this.sidebar = new Sidebar(sidebarParts(), { open: (id) => this.open(id), startNew: () => this.startNew() });
    byId("stop").addEventListener("click", () => this.stop());
    byId("leave-gone").addEventListener("click", () => this.startNew());
    window.addEventListener("hashchange", () => this.openFromAddress());
    window.addEventListener("focus", () => this.refreshList());
    setInterval(() => document.hidden || this.refreshList(), LIST_REFRESH_MILLISECONDS);
    byId("suggestions").replaceChildren(...suggestionCards((suggestion) => this.take(suggestion)));
  }

  begin() {
    const id = location.hash.slice(1);
    if (id) this.open(id);
    else this.startNew();
    for (const message of this.outbox.messages) if (message.is_first) this.sidebar.expect(message.conversation, titleFrom(message));
    this.outbox.flush();
    this.refreshList();
  }

  // Which conversation

  openFromAddress() {
    const id = location.hash.slice(1);
    if (id === (this.current ?? "")) return;
    if (id) this.open(id);
    else this.startNew();
  }

  startNew() {
    this.leave();
    this.isCreated = false;
    if (location.hash) history.pushState(null, "", location.pathname + location.search);
    this.composer.open("");
    this.current = this.composer.draft.conversation; // it has one when its first file is on its way
    this.sidebar.mark(null);
    this.redraw();
    this.composer.focus();
  }

  open(id) {
    this.leave();
    this.current = id;
    this.isCreated = !this.outbox.of(id).some((message) => message.is_first);
    this.isLoading = this.isCreated;
    if (location.hash.slice(1) !== id) history.pushState(null, "", `#${id}`);
    this.composer.open(id);
    this.sidebar.mark(id);
    for (const message of this.outbox.of(id)) this.timeline.applyMessage(message);
    this.scrolling.toEnd();
    this.redraw();
    if (this.isCreated) {
      this.listen();
      this.refetch();
    }
    this.composer.focus();
  }

  leave() {
    this.stream?.close();
    this.stream = null;
    this.isServerBusy = false;
    this.isLoading = false;
    this.ratings = {};
    this.timeline.clear();
    byId("gone").hidden = true;
    this.connection.show("open");
  }

  /** Give the new conversation its id, without asking the bridge yet. */
  adopt() {
    this.current ??= newId();
    this.composer.draft.conversation = this.current;
  }

  /** From now on it is found again: by its address, in the list, and its draft with it. */
  settle(id) {
    this.composer.settle(id);
    if (this.current !== id || location.hash.slice(1) === id) return;
    history.replaceState(null, "", `#${id}`);
    this.sidebar.mark(id);
  }

  async ensureCreated() {
    this.adopt();
    const id = this.current;
    if (this.isCreated) return id;
    await createConversation(id);
    this.created(id);
    this.refreshList();
    return id;
  }

  created(id) {
    this.settle(id);
    if (this.current !== id || this.isCreated) return;
    this.isCreated = true;
    this.listen();
  }

  listen() {
    const id = this.current;
    this.stream = new LiveStream(id, {
      onSnapshot: (snapshot) => this.current === id && this.onSnapshot(snapshot),
      onBack: () => this.current === id && this.refetch(),
      onState: (state) => this.current === id && this.connection.show(state),
    });
  }

  async refetch() {
    const id = this.current;
    if (!id || !this.isCreated) return;
    try {
      const { items, running, ratings } = await readMessages(id);
      if (this.current !== id) return;
      this.ratings = ratings;
      this.isServerBusy = running;
      this.isLoading = false;
      this.timeline.replace(items, running);
      this.redraw();
    } catch (error) {
      if (this.current === id) this.onLoadFailed(error);
    }
  }

  onLoadFailed(error) {
    if (!(error instanceof ApiError)) throw error;
    if (error.status === 404) {
      this.leave();
      byId("gone").hidden = false;
      this.redraw();
    } else if (error.status === 401) {
      this.connection.signedOut();
    } else {
      this.connection.show("lost"); // the stream comes back by itself and asks again
    }
  }

  async refreshList() {
    try {
      const { conversations } = await listConversations();
      this.sidebar.show(conversations);
      this.redraw();
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      if (error.status === 401) this.connection.signedOut();
    }
  }

  // What the person does

  send(draft) {
    const isHere = draft === this.composer.draft;
    if (isHere) this.adopt();
    const { conversation } = draft;
    const message = { client_id: newId(), conversation, is_first: isHere && !this.isCreated, ...draft.take() };
    this.settle(conversation);
    if (isHere) {
      this.timeline.applyMessage({ ...message, state: "sending" });
      this.scrolling.toEnd();
    }
    this.sidebar.expect(conversation, titleFrom(message));
    this.redraw();
    this.outbox.add(message);
  }

  take(suggestion) {
    this.composer.suggest(suggestion.text);
    if (suggestion.attach) this.composer.chooseFiles();
  }

  /** `stays`: the question goes on, so the person stays where they are. */
  async press(answer, { stays = false } = {}) {
    const id = this.current;
    await postPress(id, answer);
    if (stays) return;
    this.scrolling.toEnd();
    this.composer.focus();
  }

  async rate(feedback) {
    await postFeedback(this.current, feedback);
    this.ratings = { ...this.ratings, [feedback.run_id]: feedback.rating };
  }

  retry(clientId) {
    this.outbox.retry(clientId);
    this.composer.focus();
  }

  discard(clientId) {
    this.outbox.discard(clientId);
    this.timeline.remove(clientId);
    if (!this.isCreated && this.outbox.of(this.current).length === 0) this.sidebar.expect(this.current, null);
    this.redraw();
    this.composer.focus();
  }

  async stop() {
    const run = this.timeline.running.find((reply) => reply.can_stop)?.run_id;
    if (!run) return;
    this.stopping = run;
    this.redraw();
    this.composer.focus(); // the button goes away
    try {
      await postStop(this.current, { client_id: newId(), run_id: run });
    } catch (error) {
      this.stopping = null;
      announce(error.message);
      this.redraw();
    }
  }

  // What the bridge says

  onSnapshot(snapshot) {
    const before = this.timeline.running.some((reply) => reply.reply_id === snapshot.reply_id);
    const isPlaced = this.timeline.hasReply(snapshot.reply_id) || this.timeline.hasMessage(snapshot.reply_to);
    this.timeline.applySnapshot(snapshot);
    if (!isPlaced) this.refetch(); // it answers something said elsewhere: a press, or another window
    if (snapshot.phase === "final") {
      if (this.stopping === snapshot.run_id) this.stopping = null;
      if (before) announce(spokenText(snapshot));
      this.isServerBusy = false;
      this.refreshList();
    } else if (!before) {
      announce("Working on an answer");
      this.refreshList();
    }
    this.redraw();
  }

  onMessageChanged(message) {
    if (message.state === "sent") this.created(message.conversation);
    if (message.conversation !== this.current) return;
    this.timeline.applyMessage(message);
    if (message.state === "failed") announce(`The message was not sent. ${message.reason}`);
    if (message.state === "sent") {
      this.isServerBusy = true;
      this.refreshList();
    }
    this.redraw();
  }

  // What stands around the messages

  redraw() {
    const isGone = !byId("gone").hidden;
    const stoppable = this.timeline.running.find((reply) => reply.can_stop);
    const title = isGone ? "" : this.sidebar.titleOf(this.current);
    this.sidebar.warn([...this.outbox.failed, ...this.composer.heldUp]);
    byId("welcome").hidden = !this.timeline.isEmpty || this.isLoading || isGone;
    byId("conversation-title").textContent = title;
    document.title = this.current && title && title !== UNTITLED ? `${title} · Threadbridge` : "Threadbridge";
    byId("composer").hidden = isGone;
    byId("waiting").hidden = !(this.isServerBusy && this.timeline.endsWithSentMessage && !this.timeline.hasOpenForm);
    byId("stop").hidden = !stoppable;
    byId("stop").disabled = this.stopping !== undefined && this.stopping === stoppable?.run_id;
    byId("stop").querySelector("span").textContent = byId("stop").disabled ? "Stopping…" : "Stop";
    this.scrolling.settle();
  }
}

function titleFrom({ text, files }) {
  return openingWords(text) || files[0]?.name || "";
}

drawIcons();
new App().begin();
