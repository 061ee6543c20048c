// What the form means, said as it is written.

import { ask } from "./api.js";
import { debounce, h, refill } from "./dom.js";
import { near, relative, time } from "./time.js";

export function preview(form, input) {
  const shown = form.querySelector(".preview");
  let latest = 0;

  function once() {
    const due = new Date(input.due.value);
    if (Number.isNaN(due.getTime())) return refill(shown, h("p.wrong", {}, "Give a day and a time."));
    const soon = due < Date.now() ? "that has passed, so it runs at once" : relative(due);
    return refill(shown, h("p", {}, h("strong", {}, near(due)), `, ${soon}`));
  }

  async function recurring() {
    const mine = (latest += 1);
    const schedule = input.schedule.value.trim();
    if (!schedule)
      return refill(shown, h("p.quiet", {}, "Write a schedule, and what it means is said here."));
    const moment = (value) => (value ? new Date(value).toISOString() : null);
    const body = {
      schedule,
      timezone: input.timezone.value.trim() || null,
      start: moment(input.start.value),
      end: moment(input.end.value),
      count: 5,
    };
    try {
      const found = await ask("POST", "preview", { body });
      if (mine !== latest || !input.recurring.checked) return undefined;
      return refill(
        shown,
        h("p", {}, h("strong", {}, found.words)),
        h("ol.times", {}, ...found.occurrences.map((due) => h("li", {}, time(due)))),
      );
    } catch (error) {
      if (mine !== latest || !input.recurring.checked) return undefined;
      return refill(shown, h("p.wrong", {}, error.document?.reason ?? error.message));
    }
  }

  const later = debounce(250, recurring);
  function show() {
    form.classList.toggle("is-recurring", input.recurring.checked);
    if (!input.due.isConnected) return;
    if (input.recurring.checked) later();
    else once();
  }
  form.addEventListener("input", show);
  show();
}
