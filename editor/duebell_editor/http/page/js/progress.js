// The progress of a change to many tasks, with a button that stops it.

import { byId, h } from "./dom.js";

export function progress(words, count) {
  let isStopped = false;
  const bar = h("progress", { max: count, value: 0, "aria-label": words });
  const said = h("span", {}, `0 of ${count.toLocaleString("en")}`);
  const stop = h("button", { onclick: () => (isStopped = true) }, "Stop");
  const box = h("div.toast.progress", {}, h("strong", {}, words), bar, said, stop);
  byId("toasts").prepend(box);
  return {
    isStopped: () => isStopped,
    show(done) {
      bar.value = done;
      said.textContent = `${done.toLocaleString("en")} of ${count.toLocaleString("en")}`;
    },
    close: () => box.remove(),
  };
}
