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

// New children, with the focus kept on what has the same data-key, or near it: it is never lost.
export function refill(parent, ...children) {
  const focused = document.activeElement;
  const key = parent.contains(focused) ? focused.dataset.key : undefined;
  parent.replaceChildren(...children.flat().filter(Boolean));
  if (focused !== document.activeElement && parent.contains(focused)) focused.focus({ preventScroll: true });
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

// At once where it was not called for so long, else when that is over, and then as `later`: never left out.
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
