/** Arrays in numpy's .npy format, version 1 to 3, in little-endian rows. */

import { ArtefactError } from "./errors.js";

const DTYPES = { "|i1": "int8", "<f2": "float16", "<f4": "float32" } as const;
type Dtype = (typeof DTYPES)[keyof typeof DTYPES];
const MAGIC = [0x93, ...[..."NUMPY"].map((char) => char.charCodeAt(0))];

export interface NpyArray {
  dtype: Dtype;
  shape: number[];
  /** float16 becomes float32. */
  data: Int8Array | Float32Array;
}

/** Throws an `ArtefactError` where the bytes are not an array of such a type with so many axes, or not finite. */
export function readNpy(bytes: Uint8Array, where: string, kinds: readonly Dtype[], axes: number): NpyArray {
  const wrong = (why: string) => new ArtefactError(`${where}: ${why}; build the index again`);
  if (bytes.length < 12 || MAGIC.some((byte, i) => bytes[i] !== byte)) throw wrong("damaged (not an .npy file)");
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const long = (bytes[6] as number) > 1;
  const start = (long ? 12 : 10) + (long ? view.getUint32(8, true) : view.getUint16(8, true));
  const header = new TextDecoder("latin1").decode(bytes.subarray(long ? 12 : 10, start));
  const descr = /'descr': '([^']+)'/.exec(header)?.[1] ?? "";
  const dtype = Object.hasOwn(DTYPES, descr) ? DTYPES[descr as keyof typeof DTYPES] : null;
  const shape = (/'shape': \(([0-9, ]*)\)/.exec(header)?.[1] ?? "")
    .split(",")
    .filter((axis) => axis.trim())
    .map(Number);
  if (!dtype || !kinds.includes(dtype) || shape.length !== axes || !/'fortran_order': False/.test(header)) {
    throw wrong(`is no array of ${kinds.join(" or ")}`);
  }
  const count = shape.reduce((product, axis) => product * axis, 1);
  const width = { int8: 1, float16: 2, float32: 4 }[dtype];
  if (bytes.length - start !== count * width) throw wrong("damaged (its length is not that of its shape)");
  const data = dtype === "int8" ? new Int8Array(count) : new Float32Array(count);
  for (let i = 0; i < count; i++) {
    const at = start + i * width;
    data[i] = dtype === "int8" ? view.getInt8(at) : dtype === "float32" ? view.getFloat32(at, true) : half(view.getUint16(at, true));
  }
  if (!data.every(Number.isFinite)) throw wrong("holds numbers that are not finite");
  return { dtype, shape, data };
}

/** IEEE 754's binary16. */
function half(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 0x1f;
  const fraction = bits & 0x3ff;
  if (exponent === 0x1f) return fraction ? Number.NaN : sign * Number.POSITIVE_INFINITY;
  return exponent ? sign * 2 ** (exponent - 15) * (1 + fraction / 1024) : sign * 2 ** -14 * (fraction / 1024);
}
