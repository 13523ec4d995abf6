/**
 * A .tflite artefact in React Native through react-native-fast-tflite, which runs a file's first signature only:
 * export one sequence length, `mobilebert export --seq-len 64 --buckets 64`.
 *
 * Type-checked, not run on a phone. The app gives `files`, and the address of the model file on the phone.
 */

import { loadTensorflowModel } from "react-native-fast-tflite";
import { ArtefactError, open, type ArtefactModel, type Folder, type Inputs, type Network, type Outputs } from "mobilebert-runtime/core";

type Model = Awaited<ReturnType<typeof loadTensorflowModel>>;

export async function loadTflite(files: Folder, modelUrl: string): Promise<ArtefactModel> {
  return open(files, {}, async (where, _file, card) => {
    if (card.buckets.length > 1) {
      throw new ArtefactError(`${where}: has ${card.buckets.length} sequence lengths; export it again with one`);
    }
    return new FastTflite(await loadTensorflowModel({ url: modelUrl }, []), where);
  });
}

/** Inputs and outputs are found by name, such as "serving_default_input_ids:0", never by position. */
class FastTflite implements Network {
  readonly runtime = "react-native-fast-tflite";
  readonly threads = 1;
  readonly mostRows = 1;
  readonly packed = null;

  constructor(
    private readonly model: Model,
    private readonly where: string,
  ) {}

  async run({ tensors }: Inputs): Promise<Outputs> {
    const given = this.model.inputs.map(({ name }) => {
      const known = Object.keys(tensors).find((one) => name.includes(one));
      if (!known) throw new ArtefactError(`${this.where}: has an input ${name}, which io.json does not name; export it again`);
      return (tensors[known] as Int32Array).slice().buffer as ArrayBuffer;
    });
    const answer = await this.model.run(given);
    return Object.fromEntries(
      this.model.outputs.map(({ name, shape }, i) => {
        const short = ["logits", "embedding"].find((one) => name.includes(one)) ?? name;
        return [short, { shape, data: new Float32Array(answer[i] as ArrayBuffer) }];
      }),
    );
  }

  runPacked(): Promise<Outputs> {
    throw new Error("one graph has no packed one beside it");
  }

  /** The model is freed with the object that holds it. */
  dispose(): void {}
}
