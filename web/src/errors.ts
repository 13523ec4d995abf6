/** What can go wrong that a user should hear of; each message is one line: what, where, what to do. */

/** Something that was given is wrong. */
export class UserError extends Error {
  override name = "UserError";
}

/** An artefact folder is missing, damaged, or not what its io.json says. */
export class ArtefactError extends UserError {
  override name = "ArtefactError";
}

/** Texts or vectors that cannot be used as asked. */
export class DataError extends UserError {
  override name = "DataError";
}

/** The browser or Node lacks something, or a runtime's files are not where they were said to be. */
export class ToolError extends UserError {
  override name = "ToolError";
}

const KINDS = { UserError, ArtefactError, DataError, ToolError };

/** An error as a message that crosses from a worker, which keeps no classes. */
export interface ErrorMessage {
  name: string;
  message: string;
}

export function toMessage(error: unknown): ErrorMessage {
  return error instanceof Error ? { name: error.name, message: error.message } : { name: "Error", message: String(error) };
}

export function fromMessage({ name, message }: ErrorMessage): Error {
  const Kind = (KINDS as Record<string, new (text: string) => Error>)[name] ?? Error;
  return new Kind(message);
}

/** The first line of whatever a library threw; WebAssembly throws numbers too. */
export function firstLine(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return (text.trim().split("\n")[0] || (error instanceof Error ? error.name : "unknown")).slice(0, 200);
}
