// What the form means, said as it is written.

import { ask } from "./api.js";
import { inViewersTime } from "./field_errors.js";
import { debounce, h, refill } from "./dom.js";
import { near, relative, time } from "./time.js";

export function preview(form, { input, moments, anchor }) {
  const [ofOnce, ofRecurring] = ["once", "recurring"].map((kind) => form.querySelector(`.${kind} .preview`));
  let latest = 0;

  function once() {
    const iso = moments.due.read();
    if (!iso) return refill(ofOnce, h("p.wrong", {}, "Give a day and a time."));
    const due = new Date(iso);
    const soon = due < Date.now() ? "that has passed, so it runs at once" : relative(due);
    return refill(ofOnce, h("p", {}, h("strong", {}, near(due)), `, ${soon}`));
  }

  function show(...children) {
    refill(ofRecurring, ...children);
    // Where the window is low, it is in sight of whoever writes the schedule.
    const group = ofRecurring.parentElement;
    if (group.contains(document.activeElement)) ofRecurring.scrollIntoView({ block: "nearest" });
  }

  async function recurring() {
    const mine = (latest += 1);
    const schedule = input.schedule.value.trim();
    if (!schedule) return show(h("p.quiet", {}, "Write a schedule, and what it means is said here."));
    const body = {
      schedule,
      timezone: input.timezone.value.trim() || null,
      start: moments.start.read() ?? (schedule === anchor.expression ? anchor.start : null),
      end: moments.end.read(),
      count: 5,
    };
    const isOld = () => mine !== latest || !input.recurring.checked;
    try {
      const found = await ask("POST", "preview", { body });
      if (isOld()) return undefined;
      return show(
        h("p", {}, h("strong", {}, found.words)),
        h("ol.times", {}, ...found.occurrences.map((due) => h("li", {}, time(due)))),
      );
    } catch (error) {
      const why = inViewersTime(error.document?.reason ?? error.message);
      return isOld() ? undefined : show(h("p.wrong", {}, why));
    }
  }

  const later = debounce(250, recurring);
  function update() {
    form.classList.toggle("is-recurring", input.recurring.checked);
    if (!ofOnce) return;
    if (input.recurring.checked) later();
    else once();
  }
  form.addEventListener("input", update);
  update();
}
