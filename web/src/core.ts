/**
 * For other hosts than browsers and Node, such as React Native: `open` with a folder and a network of one's own.
 * Tokens, card, checks and scores are the same; see docs/web.md.
 */

export { openOnnx, type OnnxOptions } from "./backends/onnx.js";
export { type Folder } from "./folder.js";
export { open, type OpenNetwork } from "./load.js";
export type { Inputs, Network, Outputs } from "./network.js";
export * from "./public.js";
