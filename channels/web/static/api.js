// Talking to the bridge: addresses, headers, and errors that say what the person can do.

const BASE = new URL("web/api/", document.baseURI);
const HEADERS = { "X-Threadbridge": "1" };
const REQUEST_MILLISECONDS = 30_000;
const STILL_MILLISECONDS = 60_000;

/** The bridge answered with an error (`status`), or could not be reached (`status` 0). */
export class ApiError extends Error {
  constructor(message, status) {
    super(message);
    this.status = status;
  }

  /** Whether the same request may succeed later without a change. */
  get isPassing() {
    return this.status === 0 || this.status === 408 || this.status === 429 || this.status >= 500;
  }
}

export function listConversations() {
  return request("conversations");
}

export function createConversation(id) {
  return request("conversations", { id });
}

export function readMessages(conversation) {
  return request(`conversations/${conversation}/messages`);
}

export function postMessage(conversation, message) {
  return request(`conversations/${conversation}/messages`, message);
}

export function postPress(conversation, press) {
  return request(`conversations/${conversation}/press`, press);
}

export function postStop(conversation, stop) {
  return request(`conversations/${conversation}/stop`, stop);
}

export function postFeedback(conversation, feedback) {
  return request(`conversations/${conversation}/feedback`, feedback);
}

export function postSendNow(conversation, sendNow) {
  return request(`conversations/${conversation}/send-now`, sendNow);
}

export function eventsAddress(conversation) {
  return new URL(`conversations/${conversation}/events`, BASE);
}

/** Upload one file; `onProgress` gets the part done, from 0 to 1. It ends with an ApiError when nothing moves for a minute. */
export function upload(conversation, file, onProgress, signal) {
  return new Promise((resolve, reject) => {
    const transfer = new XMLHttpRequest();
    const fail = (message, status = 0) => reject(new ApiError(message, status));
    if (signal.aborted) return fail("The upload was cancelled.");
    const stand = () => {
      fail("The upload stood still.");
      transfer.abort();
    };
    let timer = setTimeout(stand, STILL_MILLISECONDS);
    transfer.open("POST", new URL(`conversations/${conversation}/uploads`, BASE));
    for (const [name, value] of Object.entries(HEADERS)) transfer.setRequestHeader(name, value);
    transfer.responseType = "json";
    transfer.upload.onprogress = (event) => {
      clearTimeout(timer);
      timer = setTimeout(stand, STILL_MILLISECONDS);
      if (event.lengthComputable) onProgress(event.loaded / event.total);
    };
    transfer.onload = () => {
      if (transfer.status === 201 && transfer.response) resolve(transfer.response);
      else fail(reason(transfer.response, transfer.status), transfer.status);
    };
    transfer.onerror = () => fail("The upload broke off.");
    transfer.onabort = () => fail("The upload was cancelled.");
    transfer.onloadend = () => clearTimeout(timer);
    signal.addEventListener("abort", () => transfer.abort());
    const form = new FormData();
    form.append("file", file, file.name);
    transfer.send(form);
  });
}

/** Why a request was refused, for the person. */
function reason(content, status) {
  if (status === 401) return "You are not signed in any more. Reload the page.";
  return content?.detail ?? `The bridge answered ${status}.`;
}

async function request(path, body) {
  const options = { headers: HEADERS, signal: AbortSignal.timeout(REQUEST_MILLISECONDS) };
  if (body !== undefined) {
    options.method = "POST";
    options.headers = { ...HEADERS, "Content-Type": "application/json" };
    options.body = JSON.stringify(body);
  }
  let response;
  let content;
  try {
    response = await fetch(new URL(path, BASE), options);
    content = await response.json();
  } catch (error) {
    if (!response || response.ok) throw new ApiError("The bridge cannot be reached.", 0);
  }
  if (!response.ok) throw new ApiError(reason(content, response.status), response.status);
  return content;
}
