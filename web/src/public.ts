/** What both entry points export beside `load`. */

export type { Activation, Bucket, TaskName } from "./card.js";
export { Card } from "./card.js";
export { Embedder } from "./embedder.js";
export { ArtefactError, DataError, ToolError, UserError } from "./errors.js";
export type { Progress } from "./folder.js";
export type { LoadOptions } from "./load.js";
export { Matcher, type Hit, type Pair } from "./matcher.js";
export { ArtefactModel } from "./model.js";
export { TextClassifier, type Score } from "./text_classifier.js";
export { Index } from "./vector_index.js";
