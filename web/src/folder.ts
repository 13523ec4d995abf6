/** The files of an artefact folder or an index, wherever they lie, checked against SHA256SUMS. */

import { CARD_FILE, Card, SPELLING_FILE, TOKENIZER_FILE } from "./card.js";
import { decodeText, describe, largestSize, parseJson } from "./checked.js";
import { ArtefactError, firstLine, ToolError } from "./errors.js";

export const CHECKSUM_FILE = "SHA256SUMS";
/** Beside the model, what makes the answers; vocab.txt repeats tokenizer.json. */
const ANSWERING = [CARD_FILE, TOKENIZER_FILE, SPELLING_FILE];
const LONGEST_NAME = 255;
const PRINTABLE = /^(?:[^\p{C}\p{Z}]| )+$/u;

/** How far the reading of a folder has come, in bytes. */
export type Progress = (read: number, file: string) => void;

/** A folder to read from; `read` refuses a file of more than `largest` bytes before it holds it. */
export interface Folder {
  readonly name: string;
  /** SHA-256 of bytes in hexadecimal, where there is no Web Crypto, as in React Native. */
  sha256?(bytes: Uint8Array): Promise<string>;
  read(file: string, largest: number, progress?: Progress): Promise<Uint8Array>;
}

/** A folder on a web server. */
export class UrlFolder implements Folder {
  readonly name: string;

  constructor(url: string) {
    this.name = url.replace(/\/+$/, "");
  }

  async read(file: string, largest: number, progress?: Progress): Promise<Uint8Array> {
    const url = `${this.name}/${encodeURIComponent(file)}`;
    const refuse = () => new ArtefactError(`${url}: has more than the ${largest} bytes allowed; export the artefact again`);
    let answer: Response;
    try {
      answer = await fetch(url);
    } catch (error) {
      throw new ArtefactError(`${url}: can't be read (${firstLine(error)}); look at the address and the connection`);
    }
    if (!answer.ok || !answer.body) throw new ArtefactError(`${url}: missing (${answer.status}); export or copy the artefact again`);
    if (Number(answer.headers.get("content-length")) > largest) {
      await answer.body.cancel();
      throw refuse();
    }
    const parts: Uint8Array[] = [];
    let size = 0;
    const reader = answer.body.getReader();
    for (let next = await reader.read(); !next.done; next = await reader.read()) {
      parts.push(next.value);
      size += next.value.length;
      if (size > largest) {
        await reader.cancel();
        throw refuse();
      }
      progress?.(size, file);
    }
    const whole = new Uint8Array(size);
    let at = 0;
    for (const part of parts) {
      whole.set(part, at);
      at += part.length;
    }
    return whole;
  }
}

export interface Artefact {
  card: Card;
  /** All files, each of which has the checksum that SHA256SUMS lists. */
  files: Map<string, Uint8Array>;
  /** SHA-256 over the checksums of what makes its answers, as in Python and Java. */
  fingerprint: string;
}

/** Reads an artefact folder and checks every file. */
export async function readArtefact(folder: Folder, progress?: Progress): Promise<Artefact> {
  const where = `${folder.name}/${CARD_FILE}`;
  const text = decodeText(await folder.read(CARD_FILE, largestSize(CARD_FILE)), where);
  const card = Card.read(parseJson(text, where, "card"), where);
  const { files, sums } = await readChecked(folder, card.files, progress);
  const used = [card.modelFile, ...ANSWERING].filter((name) => card.files.includes(name)).sort();
  const lines = used.map((name) => `${sums.get(name)}  ${name}\n`).join("");
  return { card, files, fingerprint: await digest(folder, new TextEncoder().encode(lines)) };
}

export interface Checked {
  files: Map<string, Uint8Array>;
  /** What SHA256SUMS lists: the SHA-256 of each file. */
  sums: Map<string, string>;
}

/** Reads every file that SHA256SUMS lists, among them those that are needed; `cure` says what to do about damage. */
export async function readChecked(
  folder: Folder,
  needed: readonly string[],
  progress?: Progress,
  cure = "export the artefact again",
): Promise<Checked> {
  const place = `${folder.name}/${CHECKSUM_FILE}`;
  const listed = new Map<string, string>();
  for (const line of decodeText(await folder.read(CHECKSUM_FILE, largestSize(CHECKSUM_FILE)), place).split("\n")) {
    const gap = line.indexOf("  ");
    const name = gap < 0 ? "" : line.slice(gap + 2);
    if (name) listed.set(name, line.slice(0, gap));
  }
  for (const name of needed) {
    if (!listed.has(name)) throw new ArtefactError(`${place}: does not list ${name}; ${cure}`);
  }
  for (const name of listed.keys()) {
    if (name.length > LONGEST_NAME || /[/\\]/.test(name) || name === "." || name === ".." || !PRINTABLE.test(name)) {
      throw new ArtefactError(`${place}: ${describe(name)} is not a file name; ${cure}`);
    }
  }
  const files = new Map<string, Uint8Array>();
  await Promise.all(
    [...listed].map(async ([name, expected]) => {
      const bytes = await folder.read(name, largestSize(name), progress);
      if ((await digest(folder, bytes)) !== expected) {
        throw new ArtefactError(`${folder.name}/${name}: damaged (its SHA-256 is not the one in ${CHECKSUM_FILE}); ${cure}`);
      }
      files.set(name, bytes);
    }),
  );
  return { files, sums: listed };
}

/** SHA-256 of bytes in hexadecimal, by the folder's own means where it has some. */
export async function digest(folder: Folder, bytes: Uint8Array): Promise<string> {
  return folder.sha256?.(bytes) ?? sha256(bytes);
}

/** SHA-256 of bytes in hexadecimal. */
export async function sha256(bytes: Uint8Array): Promise<string> {
  if (!globalThis.crypto?.subtle) {
    throw new ToolError("this page has no Web Crypto, so that checksums can't be checked; serve it by https or from localhost");
  }
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes as BufferSource));
  return [...digest].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
