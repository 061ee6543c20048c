// Elements. Whatever comes from the API goes into the page as text, never as markup.

export const byId = (id) => document.getElementById(id);

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
