/** An artefact folder opened with the class of its task; what the entry points for browsers and Node share. */

import type { Card } from "./card.js";
import { Embedder } from "./embedder.js";
import { ArtefactError, DataError } from "./errors.js";
import { readArtefact, type Folder, type Progress } from "./folder.js";
import { Matcher } from "./matcher.js";
import type { ArtefactModel, Opened } from "./model.js";
import type { Network } from "./network.js";
import { TextClassifier } from "./text_classifier.js";
import { PairTokenizer } from "./tokenizer.js";

const MOST_THREADS = 1024;

export interface LoadOptions {
  /** CPU threads of one inference. In a browser more than 1 needs a page that is cross-origin isolated. */
  threads?: number;
  /** Of a .tflite file in a browser. */
  accelerator?: "wasm" | "webgpu";
  /** Folder of the runtimes' WebAssembly files: by default "wasm/" beside the page; in Node, node_modules. */
  wasm?: string;
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
  const tokenizer = PairTokenizer.read(card, files, folder.name);
  const where = `${folder.name}/${card.modelFile}`;
  const network = await openNetwork(where, files.get(card.modelFile) as Uint8Array, card, { ...options, threads });
  const opened: Opened = { card, tokenizer, network, fingerprint };
  return new Class(opened);
}
