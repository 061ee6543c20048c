// Elements of the page, the focus, counts in words, and what the server says within the page.

// Elements. Whatever comes from the API goes into the page as text, never as markup.

export const byId = (id) => document.getElementById(id);

// The page's content, to which its first link skips.
export const content = () => byId(byId("skip").hash.slice(1));

export function h(tag, properties = {}, ...children) {
  const [name, ...classes] = tag.split(".");
  const made = document.createElement(name);
  made.classList.add(...classes);
  for (const [key, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (key in made && typeof value !== "string") made[key] = value;
    else made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return made;
}

// New children. The focus is never lost: it moves to the child with the same data-key, or to the first with one. A
// child that was there before is left in its place, as taking it out would close the menu that is open in it.
export function refill(parent, ...children) {
  const focused = document.activeElement;
  const key = parent.contains(focused) ? focused.dataset.key : undefined;
  const asNode = (child) => (child instanceof Node ? child : new Text(child));
  const wanted = new Set(children.flat().filter(Boolean).map(asNode));
  for (const child of [...parent.childNodes]) if (!wanted.has(child)) child.remove();
  let place = parent.firstChild;
  for (const child of wanted) {
    if (child === place) place = place.nextSibling;
    else parent.insertBefore(child, place);
  }
  if (focused === document.activeElement) return;
  if (parent.contains(focused)) focused.focus({ preventScroll: true });
  else if (key) {
    const same = parent.querySelector(`[data-key="${CSS.escape(key)}"]`);
    (same ?? parent.querySelector("[data-key]"))?.focus({ preventScroll: true });
  }
}

// The same for a live region: what still reads the same is left alone, or it would be read out once more.
export function reword(region, ...children) {
  const made = h("div", {}, ...children);
  const [now, then] = [[...region.childNodes], [...made.childNodes]];
  if (now.length === then.length && now.every((node, at) => node.isEqualNode(then[at]))) return;
  refill(region, then);
}

// Text in which `code` is set as such.
export const withCode = (text) =>
  text.split("`").map((part, index) => (index % 2 ? h("code", {}, part) : part));

export const press = (button, pressed) => button.setAttribute("aria-pressed", String(pressed));

export function debounce(milliseconds, call) {
  let timer;
  return (...given) => {
    clearTimeout(timer);
    timer = setTimeout(() => call(...given), milliseconds);
  };
}

// Makes a function that calls `call` at once if the last call is at least this long ago. If not, it calls `later`
// once when that time is over, so no request is lost. Its `rest` counts as a call, and calls nothing.
export function atMostEvery(milliseconds, call, later) {
  let timer = null;
  let last = -Infinity;
  const rest = () => {
    last = performance.now();
  };
  const go = (how) => {
    clearTimeout(timer);
    timer = null;
    rest();
    return how();
  };
  const asked = async () => {
    const left = last + milliseconds - performance.now();
    if (left <= 0) await go(call);
    else timer ??= setTimeout(() => go(later), left);
  };
  return Object.assign(asked, { rest });
}

// The focus is never lost to the page as a whole: it goes where the reader was, or near it.


const isNowhere = () => !document.activeElement || document.activeElement.matches("body, [tabindex='-1']");

export const topDialog = () => [...document.querySelectorAll("dialog[open]")].at(-1);

// Moves the focus to the first of these that is still there; else to the heading of what is open, or to the content.
export function focusBack(...wanted) {
  if (!isNowhere()) return;
  const place = topDialog() ?? document;
  const there = wanted.find((one) => one?.isConnected && place.contains(one) && one !== document.body);
  (there ?? topDialog()?.querySelector("h2") ?? content()).focus({ preventScroll: true });
}

export const byKey = (key, place = topDialog() ?? document) =>
  key ? place.querySelector(`[data-key="${CSS.escape(key)}"]`) : null;

// Whether the server was started read-only: then nothing is offered that would change something.

export const isReadOnly = document.documentElement.hasAttribute("data-read-only");

// Counts in words, with their noun.

export const number = (count) => count.toLocaleString("en");

export const several = (count, noun) => `${number(count)} ${noun}${count === 1 ? "" : "s"}`;

export const tasks = (count) => several(count, "task");

// The environment that the page shows: its name and where it is, in its colour.


export function showEnvironment({ name, color, region, account }) {
  const badge = byId("environment");
  const place = [name, region, account && `account ${account}`].filter(Boolean).join(" · ");
  refill(badge, h("span", {}, place));
  badge.title = place;
  badge.hidden = !place;
  if (color) document.documentElement.dataset.color = color;
  else delete document.documentElement.dataset.color;
}

// The progress of a change to many tasks, with a button that stops it.


export function progress(words, count) {
  let isStopped = false;
  const bar = h("progress", { max: count, value: 0, "aria-label": words });
  const said = h("span", {}, `0 of ${count.toLocaleString("en")}`);
  const stop = h("button", { onclick: () => (isStopped = true) }, "Stop");
  const box = h("div.toast.progress", {}, h("strong", {}, words), bar, said, stop);
  byId("toasts").prepend(box);
  return {
    isStopped: () => isStopped,
    show(done) {
      bar.value = done;
      said.textContent = `${done.toLocaleString("en")} of ${count.toLocaleString("en")}`;
    },
    close: () => box.remove(),
  };
}
