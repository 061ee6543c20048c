// What is being looked at, as the address's fragment, which is not sent: to keep, to send on, to come back to.

export const asked = () => new URLSearchParams(location.hash.slice(1));

export function note(changes) {
  const query = asked();
  for (const [name, value] of Object.entries(changes))
    if (value) query.set(name, value);
    else query.delete(name);
  history.replaceState(null, "", query.size ? `#${query}` : location.pathname);
}
