// Counts in words, with their noun.

export const number = (count) => count.toLocaleString("en");

export const several = (count, noun) => `${number(count)} ${noun}${count === 1 ? "" : "s"}`;

export const tasks = (count) => several(count, "task");
