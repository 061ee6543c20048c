// The limits of an action, over all runs together: what they are, and a dialog to set them.

import { ask } from "./api.js";
import { busy } from "./busy.js";
import { openDialog } from "./dialog.js";
import { h } from "./dom.js";
import { blame, field, forgive } from "./field.js";
import { limitWords as words, setWords, waitingOf } from "./limit_words.js";
import { tell } from "./state.js";
import { toast } from "./toast.js";

// A line on a card; nothing where there is no limit.
export function limitLine(limit) {
  if (!limit) return null;
  const { at_most: atMost, per_second: perSecond, paused, since } = limit;
  const waiting = waitingOf(limit);
  const declared = words(limit.declared_at_most, limit.declared_per_second);
  return h(
    "p",
    { class: paused ? "paused" : undefined },
    paused ? h("strong", {}, "Paused") : `Limits: ${words(atMost, perSecond)}`,
    ...setWords(limit),
    since && `. Its code declares: ${declared}.`,
    waiting && `${since ? " " : "; "}${waiting}${since ? "." : ""}`,
  );
}

// The number that is written; null where nothing is, and undefined where it is none.
function read(input) {
  const text = input.value.trim();
  if (!text) return null;
  return Number.isFinite(Number(text)) ? Number(text) : undefined;
}

export function openLimit(action, limit) {
  const { dialog, body } = openDialog(`Limits of ${action}`, { kind: "form" });
  const given = (name) => (limit?.since && limit[name] !== limit[`declared_${name}`] ? limit[name] : null);
  const input = (name) =>
    h("input", { name, inputmode: "decimal", autocomplete: "off", value: String(given(name) ?? "") });
  const inputs = { at_most: input("at_most"), per_second: input("per_second") };
  const wrong = h("p.wrong", { role: "alert" });

  async function set(limits) {
    wrong.textContent = "";
    try {
      const now = await ask("PATCH", `limits/${encodeURIComponent(action)}`, { body: limits });
      dialog.close();
      toast(now.paused ? `${action} is paused` : `${action}: ${words(now.at_most, now.per_second)}`);
      tell("changed", null);
    } catch (error) {
      wrong.textContent = error.message;
    }
  }

  function send() {
    const limits = {};
    for (const [name, one] of Object.entries(inputs)) {
      forgive(one);
      limits[name] = read(one);
      if (limits[name] === undefined) {
        blame(one, "Give a number, or nothing.");
        one.focus();
        return undefined;
      }
    }
    return set(limits);
  }

  const button = (text, limits) =>
    h("button", { type: "button", onclick: () => busy(foot, () => set(limits)) }, text);
  const foot = h(
    "div.foot",
    {},
    wrong,
    h(
      "div.actions",
      {},
      limit?.since && button("As declared", { at_most: null, per_second: null }),
      !limit?.paused && button("Pause", { at_most: 0 }),
      h("button.primary", {}, "Set"),
    ),
  );
  body.append(
    h(
      "form",
      {
        novalidate: true,
        onsubmit: (event) => {
          event.preventDefault();
          busy(foot, send);
        },
      },
      field("At a time, at most", inputs.at_most),
      field("Started a second, at most", inputs.per_second),
      h("p.quiet", {}, "Over all runs together. 0 pauses the action. An empty field is as its code declares."),
      foot,
    ),
  );
}
