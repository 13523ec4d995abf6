/** What the page knows of its models, and the one that is open in a worker. */

import { WorkerModel, type Facts } from "../src/client.js";

/** An entry of models.json, which `mobilebert web` writes. */
export interface ListedModel {
  name: string;
  folder: string;
  task: string;
  bytes: number;
  /** SHA-256 of its SHA256SUMS. */
  checksums: string;
  licence: string;
  /** The model that it was made of. */
  origin: string;
}

export interface Site {
  version: string;
  models: ListedModel[];
  /** The open model: its entry, its worker, and what the worker says. */
  listed: ListedModel;
  model: WorkerModel;
  facts: Facts;
  /** Bytes read and milliseconds until it could answer. */
  loadedBytes: number;
  loadedMs: number;
}

export const WORKER = "worker.js";

export async function openSite(status: (text: string) => void): Promise<Site> {
  const answer = await fetch("models.json");
  if (!answer.ok) throw new Error(`models.json can't be read (${answer.status}); make the site again with \`mobilebert web\``);
  const { version, models } = (await answer.json()) as Pick<Site, "version" | "models">;
  const asked = new URLSearchParams(location.search).get("model");
  const listed = models.find((one) => one.name === asked) ?? (models[0] as ListedModel);
  const model = new WorkerModel(new Worker(WORKER));
  const start = performance.now();
  const read = new Map<string, number>();
  await model.open(listed.folder, {}, (bytes, file) => {
    read.set(file, bytes);
    const sum = [...read.values()].reduce((total, one) => total + one, 0);
    status(`Loading ${Math.min(100, Math.round((100 * sum) / listed.bytes))}%`);
  });
  const loadedBytes = [...read.values()].reduce((total, one) => total + one, 0);
  return { version, models, listed, model, facts: model.facts, loadedBytes, loadedMs: performance.now() - start };
}
