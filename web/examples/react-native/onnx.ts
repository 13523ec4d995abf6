/**
 * An .onnx artefact in React Native through onnxruntime-react-native: the package's tokens, card and scores.
 *
 * Type-checked, not run on a phone. The app gives `files`: how it reads a file of the folder, and its SHA-256.
 */

import * as ort from "onnxruntime-react-native";
import { open, openOnnx, type ArtefactModel, type Folder } from "mobilebert-runtime/core";

export async function loadOnnx(files: Folder, threads = 2): Promise<ArtefactModel> {
  return open(files, { threads }, (where, file, card) =>
    openOnnx(where, file, card, { ort, name: "onnxruntime-react-native", provider: "cpu", threads }),
  );
}
