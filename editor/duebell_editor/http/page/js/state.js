// What is being looked at, and word of changes to it.

const bus = new EventTarget();

export const filters = { status: "", action: "", prefix: "", after: "", before: "" };

export const on = (event, call) => bus.addEventListener(event, ({ detail }) => call(detail));
export const tell = (event, detail) => bus.dispatchEvent(new CustomEvent(event, { detail }));

export function setFilters(changes) {
  Object.assign(filters, changes);
  tell("filters");
}

// What a list or a bulk action is asked for with.
export function where() {
  const { status, action, prefix, after, before } = filters;
  const asked = { status: status ? [status] : [], action, prefix, after, before };
  return Object.fromEntries(Object.entries(asked).filter(([, value]) => value.length));
}

export const isHistory = () => ["done", "failed", "expired", "cancelled"].includes(filters.status);
