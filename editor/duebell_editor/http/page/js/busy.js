// Buttons that wait for an answer: none of their group is pressed meanwhile, and the focus stays on them.

const working = new WeakSet();

const stop = (event) => {
  event.preventDefault();
  event.stopPropagation();
};

const isBusy = (group) => working.has(group);

// Disabled for the reader, not for the browser, which would take the focus away.
export function markBusy(group) {
  group.setAttribute("aria-busy", String(isBusy(group)));
  for (const button of group.querySelectorAll("button"))
    if (isBusy(group)) button.setAttribute("aria-disabled", "true");
    else button.removeAttribute("aria-disabled");
}

export async function busy(group, work) {
  if (isBusy(group)) return;
  working.add(group);
  group.addEventListener("click", stop, true);
  markBusy(group);
  try {
    await work();
  } finally {
    working.delete(group);
    group.removeEventListener("click", stop, true);
    markBusy(group);
  }
}

// The second click of a double click means the button that was there at the first.
export function onlySingleClicks(group) {
  group.addEventListener("click", (event) => event.detail > 1 && stop(event), true);
  return group;
}
