// The messages of the dead-letter queues: the reason of each, and two buttons for all messages of a queue.

import { ask, get, pretty } from "./api.js";
import { busy, confirm, onlySingleClicks, openDialog } from "./dialog.js";
import { focusBack, h, isReadOnly, refill, several } from "./dom.js";
import { tell } from "./state.js";
import { bell } from "./status.js";
import { time } from "./time.js";
import { complain, toast } from "./toast.js";

// The kinds of problems that are about dead letters.
export const LETTERS = ["dead_letters", "intake_dead_letters"];

const messages = (count) => several(count, "message");

const redriven = (queue, it) =>
  queue === "intake"
    ? `The intake queue gets ${it} again.`
    : `The ${bell()} is set, so that a run comes for all that is due. Then ${it} will be deleted here.`;

// JSON is laid out; any other text stays as it is.
function laidOut(body) {
  try {
    JSON.parse(body);
    return pretty(body.replace(/("(?:\\.|[^"\\])*")|\s+/g, "$1"));
  } catch {
    return body;
  }
}

const row = ({ sent_at: sentAt, reason, body }) =>
  h(
    "tr",
    {},
    h("td", {}, time(sentAt)),
    h(
      "td",
      {},
      reason || "The message gives no reason.",
      h(
        "details",
        {},
        h("summary", {}, "Message"),
        h("pre", { tabindex: "0", role: "region", "aria-label": "Message" }, laidOut(body)),
      ),
    ),
  );

function part(queue, letters, refresh) {
  const group = onlySingleClicks(h("div.actions"));
  const [count, it] = [messages(letters.length), letters.length === 1 ? "it" : "they"];
  const change = (kind, name, done, { text, danger = false, path, body }) =>
    h(
      kind,
      {
        "data-key": `${path} ${queue}`,
        "aria-label": `${name} ${count} of ${queue}`,
        onclick: async () => {
          if (!(await confirm(`${name} ${count}?`, text, `${name} ${count}`, { danger }))) return;
          await busy(group, async () => {
            try {
              const handled = await ask("POST", `dead-letters/${queue}/${path}`, { body });
              toast(`${messages(handled.count)} ${done}`);
            } catch (error) {
              complain(error);
            }
            await refresh();
            tell("changed");
          });
        },
      },
      name,
    );
  group.append(
    change("button.small.primary", "Send back", "sent back", {
      text: redriven(queue, it === "it" ? "the message" : "the messages"),
      path: "redrive",
    }),
    // Only what is shown: a message that came meanwhile stays.
    change("button.small.danger", "Delete", "deleted", {
      text: `${it === "it" ? "It" : "They"} cannot be restored.`,
      danger: true,
      path: "delete",
      body: { ids: letters.map(({ id }) => id) },
    }),
  );
  const header = h("tr", {}, ...["Sent", "Reason"].map((name) => h("th", { scope: "col" }, name)));
  return h(
    "section.letters",
    { "aria-label": queue },
    h("h3", {}, `${queue}: ${count}`),
    !isReadOnly && group,
    h("table.plain", {}, h("thead", {}, header), h("tbody", {}, ...letters.map(row))),
  );
}

export function openLetters() {
  const { heading, body } = openDialog("Dead letters", { kind: "panel" });
  const answer = h("div", {}, h("p.quiet", { role: "status" }, "Reading the messages, which takes some seconds…"));
  body.append(
    h("p.quiet", {}, "At most 1,000 messages of each queue are shown. Remove the cause before you send them back."),
    answer,
  );
  async function refresh() {
    try {
      const { letters } = await get("dead-letters");
      const queues = [...new Set(letters.map(({ queue }) => queue))];
      const parts = queues.map((queue) => part(queue, letters.filter((one) => one.queue === queue), refresh));
      refill(answer, parts.length ? parts : h("p", { role: "status" }, "No messages are left."));
    } catch (error) {
      refill(answer, h("p.wrong", { role: "alert" }, `The messages cannot be read: ${error.message}`));
    }
    focusBack(heading);
  }
  refresh();
}
