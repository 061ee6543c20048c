// A payload as text, for people and from them.

// Laid out by its own signs, not parsed, so that numbers stay as they are.
export function pretty(text) {
  let depth = 0;
  return text.replace(/"(?:\\.|[^"\\])*"|[{}[\],:]/g, (sign, at) => {
    const line = () => `\n${"  ".repeat(depth)}`;
    if (sign === "{" || sign === "[") {
      if ("}]".includes(text[at + 1])) return sign;
      depth += 1;
      return sign + line();
    }
    if (sign === "}" || sign === "]") {
      if ("{[".includes(text[at - 1])) return sign;
      depth -= 1;
      return line() + sign;
    }
    if (sign === ",") return sign + line();
    return sign === ":" ? ": " : sign;
  });
}

// A key that one object of this JSON has twice, or null: of two, only the last would count.
export function doubleKey(text) {
  const open = []; // the keys of each object around; null for an array
  for (const [sign, string, colon] of text.matchAll(/("(?:\\.|[^"\\])*")(\s*:)?|[{}[\]]/g)) {
    if (sign === "{") open.push(new Set());
    else if (sign === "[") open.push(null);
    else if (sign === "}" || sign === "]") open.pop();
    else if (colon) {
      const key = JSON.parse(string);
      if (open.at(-1).has(key)) return key;
      open.at(-1).add(key);
    }
  }
  return null;
}

// The text of one top-level field of a JSON object.
export function rawField(text, name) {
  let depth = 0;
  let begin = -1;
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at];
    if (character === '"') {
      const from = at;
      for (at += 1; text[at] !== '"'; at += 1) if (text[at] === "\\") at += 1;
      if (depth === 1 && begin < 0 && text.slice(from, at + 1) === `"${name}"` && text[at + 1] === ":")
        begin = at + 2;
    } else if ("{[".includes(character)) depth += 1;
    else if ("}]".includes(character)) depth -= 1;
    if (begin >= 0 && at >= begin && ((depth === 1 && character === ",") || depth === 0))
      return text.slice(begin, at).trim();
  }
  return "null";
}
