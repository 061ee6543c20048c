// A payload as text for people.

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
