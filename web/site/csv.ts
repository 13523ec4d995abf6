/** Comma-, semicolon- or tab-separated values (RFC 4180), and plain lists of lines. */

export interface Entry {
  question: string;
  answer: string;
}

/** Rows of a file: the first column is what is searched, the second what is shown below it. */
export function readEntries(text: string): Entry[] {
  const rows = parse(text.replace(/^\ufeff/, ""), separatorOf(text));
  const named = /^(question|text|title|frage)s?$/i.test(rows[0]?.[0]?.trim() ?? "");
  return (named ? rows.slice(1) : rows)
    .map(([question = "", ...rest]) => ({ question: question.trim(), answer: rest.filter((one) => one.trim()).join(" · ").trim() }))
    .filter((entry) => entry.question);
}

/** A tab or a semicolon where most lines have one; a comma where fields are in quotes; else lines are whole. */
function separatorOf(text: string): string | null {
  const lines = text.split(/\r?\n/, 50).filter((line) => line);
  const most = (mark: string) => lines.filter((line) => line.includes(mark)).length > 0.8 * lines.length;
  if (most("\t")) return "\t";
  if (most(";")) return ";";
  const quoted = lines.some((line) => /^"|,"/.test(line));
  const named = /^(question|text|title)s?,/i.test(lines[0] ?? "");
  // A comma within a sentence is followed by a space.
  return quoted || named || most(",") && lines.every((line) => !/,\s/.test(line)) ? "," : null;
}

function parse(text: string, separator: string | null): string[][] {
  if (!separator) return text.split(/\r?\n/).map((line) => [line]);
  const rows: string[][] = [];
  let row: string[] = [];
  let field = "";
  let quoted = false;
  const end = () => {
    row.push(field);
    field = "";
  };
  for (let i = 0; i < text.length; i++) {
    const char = text[i] as string;
    if (quoted) {
      if (char !== '"') field += char;
      else if (text[i + 1] === '"') field += text[++i];
      else quoted = false;
    } else if (char === '"' && !field) quoted = true;
    else if (char === separator) end();
    else if (char === "\n") {
      end();
      rows.push(row);
      row = [];
    } else if (char !== "\r") field += char;
  }
  if (field || row.length) {
    end();
    rows.push(row);
  }
  return rows;
}
