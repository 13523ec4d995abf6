/** An artefact folder opened with the class of its task; what the entry points for browsers and Node share. */

import type { Card } from "./card.js";
import { Embedder } from "./embedder.js";
import { ArtefactError, DataError } from "./errors.js";
import { digest, readArtefact, type Folder, type Progress } from "./folder.js";
import { Matcher } from "./matcher.js";
import type { ArtefactModel, Opened } from "./model.js";
import type { Network } from "./network.js";
import { TextClassifier } from "./text_classifier.js";
import { checkTexts, isBlank } from "./texts.js";
import { PairTokenizer } from "./tokenizer.js";

const MOST_THREADS = 1024;

export interface LoadOptions {
  /** CPU threads of one inference. In a browser more than 1 needs a page that is cross-origin isolated. */
  threads?: number;
  /** Of a .tflite file in a browser. */
  accelerator?: "wasm" | "webgpu";
  /** Folder of the runtimes' WebAssembly files: by default "wasm/" beside the page; in Node, node_modules. */
  wasm?: string;
  /** Texts whose words the artefact's spelling correction leaves as they are, in any case: your names of products or people. */
  words?: readonly string[];
  /** Correct misspelt words, where the artefact does so; true unless given. */
  spelling?: boolean;
  /** Called while files are read. */
  onProgress?: Progress;
}

export type OpenNetwork = (where: string, file: Uint8Array, card: Card, options: LoadOptions) => Promise<Network>;

/** The first class that reads a card; a matcher that returns vectors is a `Matcher`. */
const CLASSES = [Matcher, TextClassifier, Embedder];

/** Opens a folder, checking each file against its checksum and the card against its schema first. */
export async function open(folder: Folder, options: LoadOptions, openNetwork: OpenNetwork): Promise<ArtefactModel> {
  const threads = options.threads ?? 1;
  if (!(Number.isInteger(threads) && threads >= 1 && threads <= MOST_THREADS)) {
    throw new DataError(`threads is ${threads}; give 1 to ${MOST_THREADS}`);
  }
  const { card, files, fingerprint } = await readArtefact(folder, options.onProgress);
  const Class = CLASSES.find((one) => one.reads(card));
  if (!Class) throw new ArtefactError(`${folder.name}: is for ${card.task}, which this package does not do; run it in Python or on Android`);
  const [tokenizer, said] = respelt(PairTokenizer.read(card, files, folder.name), options);
  const where = `${folder.name}/${card.modelFile}`;
  const network = await openNetwork(where, files.get(card.modelFile) as Uint8Array, card, { ...options, threads });
  const told = said === null ? fingerprint : await digest(folder, new TextEncoder().encode(`${fingerprint}\n${said}`));
  const opened: Opened = { card, tokenizer, network, fingerprint: told };
  return new Class(opened);
}

/** The tokenizer as the options have it, and as in Python what it does not correct: a word a line, a hyphen, null of no option. */
function respelt(tokenizer: PairTokenizer, { words, spelling = true }: LoadOptions): [PairTokenizer, string | null] {
  if (words === undefined && spelling) return [tokenizer, null];
  if (!tokenizer.corrector) throw new DataError("words, spelling: the artefact corrects no words; leave them out");
  if (words === undefined) return [tokenizer.withCorrector(null), "-"];
  if (!spelling) throw new DataError("words: are left as they are by the correction, which spelling: false turns off");
  checkTexts(words, 1);
  const blank = words.findIndex(isBlank);
  if (blank >= 0) throw new DataError(`words: entry ${blank + 1} is empty; leave it out`);
  const corrector = tokenizer.corrector.keeping(words);
  return [tokenizer.withCorrector(corrector), [...corrector.own].sort().map((word) => `${word}\n`).join("")];
}
