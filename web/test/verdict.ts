/** Opens an artefact and answers pairs, or says how it was refused; runs in Node and in a browser's worker. */

import { Embedder, Matcher, TextClassifier, UserError, type ArtefactModel, type LoadOptions } from "../src/public.js";

export type Verdict =
  | { verdict: "accepted"; scores: unknown; fingerprint: string }
  | { verdict: "refused" | "traceback"; why: string };

export async function verdict(
  load: (artefact: string, options?: LoadOptions) => Promise<ArtefactModel>,
  artefact: string,
  pairs: [string, string][],
  options: LoadOptions = {},
): Promise<Verdict> {
  try {
    const model = await load(artefact, options);
    const scores = await answers(model, pairs);
    model.dispose();
    return { verdict: "accepted", scores, fingerprint: model.fingerprint };
  } catch (error) {
    const { name, message, stack } = error as Error;
    if (error instanceof UserError) return { verdict: "refused", why: `${name}: ${message}`.slice(0, 300) };
    return { verdict: "traceback", why: String(stack ?? error) };
  }
}

async function answers(model: ArtefactModel, pairs: [string, string][]): Promise<unknown> {
  const texts = pairs.map(([a]) => a);
  if (model instanceof Matcher) return model.score(pairs);
  if (model instanceof TextClassifier) return model.scores(texts);
  return (await (model as Embedder).embed(texts)).map((vector) => [...vector]);
}
