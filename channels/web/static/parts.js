// The elements the page is made of, as `index.html` has them.

import { icon } from "./elements.js";

export const byId = (id) => document.getElementById(id);

export function composerParts() {
  return {
    form: byId("composer"),
    text: byId("composer-text"),
    send: byId("send"),
    attach: byId("attach"),
    attachments: byId("attachments"),
    fileInput: byId("file-input"),
    hint: byId("composer-hint"),
    stage: byId("stage"),
    dropZone: byId("drop-zone"),
  };
}

export function sidebarParts() {
  return {
    sidebar: byId("sidebar"),
    stage: byId("stage"),
    veil: byId("veil"),
    list: byId("conversation-list"),
    empty: byId("sidebar-empty"),
    newButton: byId("new-conversation"),
    openButton: byId("open-sidebar"),
    closeButton: byId("close-sidebar"),
  };
}

export function drawIcons() {
  const places = { attach: "attach", send: "send", "open-sidebar": "menu", "close-sidebar": "close", "new-conversation": "plus", stop: "stop", jump: "down" };
  for (const [id, name] of Object.entries(places)) byId(id).prepend(icon(name));
}
