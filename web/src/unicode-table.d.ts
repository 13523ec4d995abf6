/** android_bench's table of what BERT's normaliser does to each code point, as text; the build puts it in. */
declare module "unicode-table" {
  const table: string;
  export default table;
}
