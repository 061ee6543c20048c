// Whether the server was started read-only: then nothing is offered that would change something.

export const isReadOnly = document.documentElement.hasAttribute("data-read-only");
