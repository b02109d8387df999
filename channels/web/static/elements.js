// Building DOM: elements by description, icons by name. Text always goes in as text.

const TITLE_WORDS = 6;
const TITLE_LENGTH = 60;

const ICONS = {
  attach: '<path d="m20.5 11.5-8.6 8.600a5.5 5.5 0 0 1-7.8-7.800l9-9a3.7 3.7 0 0 1 5.2 5.200l-9 9a1.8 1.8 0 0 1-2.6-2.600l8.3-8.3"/>',
  send: '<path d="M12 19.500v-15M5.5 11 12 4.500l6.5 6.5"/>',
  stop: '<rect x="5.5" y="5.5" width="13" height="13" rx="2.5" fill="currentColor" stroke="none"/>',
  plus: '<path d="M12 5v14M5 12h14"/>',
  menu: '<path d="M4 7h16M4 12h16M4 17h10"/>',
  close: '<path d="m6 6 12 12M18 6 6 18"/>',
  check: '<path d="m5 12.5 4.5 4.500L19 7.5"/>',
  warning: '<path d="M12 8.500v5M12 17v.1M10.5 4.3 2.8 17.700A1.7 1.7 0 0 0 4.3 20.300h15.400a1.7 1.7 0 0 0 1.5-2.600L13.5 4.300a1.7 1.7 0 0 0-3 0Z"/>',
  info: '<circle cx="12" cy="12" r="9"/><path d="M12 11v5M12 8v.1"/>',
  clock: '<circle cx="12" cy="12" r="9"/><path d="M12 7v5l3.5 2"/>',
  file: '<path d="M13.5 3H7a2 2 0 0 0-2 2v14a2 2 0 0 0 2 2h10a2 2 0 0 0 2-2V8.500ZM13.5 3v5.500H19"/>',
  download: '<path d="M12 4v11M7 10.500l5 5 5-5M5 20h14"/>',
  copy: '<rect x="8.5" y="8.5" width="11.5" height="11.5" rx="2"/><path d="M15.5 8.500V6a2 2 0 0 0-2-2H6a2 2 0 0 0-2 2v7.500a2 2 0 0 0 2 2h2.5"/>',
  retry: '<path d="M19.5 12a7.5 7.5 0 1 1-2.3-5.400M19.5 3.500v4h-4"/>',
  down: '<path d="M12 5v14M6 13l6 6 6-6"/>',
  chevron: '<path d="m9 6 6 6-6 6"/>',
  question: '<circle cx="12" cy="12" r="9"/><path d="M9.5 9.500a2.5 2.5 0 1 1 3.7 2.200c-.8.5-1.2 1-1.2 1.800M12 16.500v.1"/>',
  branch: '<circle cx="6" cy="6" r="2.2"/><circle cx="6" cy="18" r="2.2"/><circle cx="18" cy="8" r="2.2"/><path d="M6 8.2v7.6M18 10.2c0 4-6 3-11.5 6"/>',
  bulb: '<path d="M9 17.500h6M10 21h4M8.5 14.500a6 6 0 1 1 7 0c-.6.5-.8 1.2-.8 2H9.300c0-.8-.2-1.5-.8-2Z"/>',
  pencil: '<path d="m4 20 .9-4L16 4.900a2.1 2.1 0 0 1 3 3L7.9 19.100Z"/>',
  up: '<path d="M7.5 10.500 11.300 3.600a2 2 0 0 1 2.900 2.100L13.500 9.500h5.200a2 2 0 0 1 2 2.400l-1.200 6.300a2.200 2.200 0 0 1-2.200 1.800H7.500ZM7.500 10.500H4v9.500h3.500"/>',
  low: '<path d="M16.500 13.500 12.700 20.400a2 2 0 0 1-2.900-2.100l.7-3.800H5.300a2 2 0 0 1-2-2.400l1.200-6.300A2.200 2.200 0 0 1 6.700 4h9.800ZM16.500 13.500H20V4h-3.500"/>',
  table: '<rect x="3.5" y="5" width="17" height="14" rx="2"/><path d="M3.5 10h17M9.5 5v14"/>',
};

/** An element with properties (`class`, `on…` handlers, `data`, attributes) and children (nodes or strings). */
export function h(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "data") Object.assign(element.dataset, value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

/** An icon; it says nothing to a screen reader, so its button needs a name. */
export function icon(name) {
  return fragment(
    `<svg class="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false">${ICONS[name]}</svg>`,
  ).firstElementChild;
}

/** HTML of ours, or rendered and sanitised by our server, as nodes. Nothing else may come here. */
export function fragment(html) {
  const template = document.createElement("template");
  template.innerHTML = html;
  return template.content;
}

/** A size as people read it. */
export function size(bytes) {
  if (bytes < 1000) return `${bytes} B`;
  const units = ["kB", "MB", "GB"];
  let value = bytes / 1000;
  let unit = 0;
  while (value >= 1000 && unit < units.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} ${units[unit]}`;
}

/** How long ago, in a word or two. */
export function ago(isoTime, now = Date.now()) {
  const minutes = Math.round((now - Date.parse(isoTime)) / 60_000);
  if (minutes < 1) return "now";
  if (minutes < 60) return `${minutes} min`;
  if (minutes < 24 * 60) return `${Math.round(minutes / 60)} h`;
  return new Date(isoTime).toLocaleDateString(undefined, { day: "numeric", month: "short" });
}

/** An id of our form: 32 hexadecimal digits. (`crypto.randomUUID` is missing on plain HTTP.) */
export function newId() {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Say something to people who listen to the page instead of seeing it. */
export function announce(text) {
  document.getElementById("announcer").textContent = text;
}

/** A title made of a message: its first words. The bridge cuts in the same way. */
export function openingWords(text) {
  const words = text.split(/\s+/).filter(Boolean);
  const title = words.slice(0, TITLE_WORDS).join(" ");
  return words.length > TITLE_WORDS || title.length > TITLE_LENGTH ? `${title.slice(0, TITLE_LENGTH - 1).trimEnd()}…` : title;
}
