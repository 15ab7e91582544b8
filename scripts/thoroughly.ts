/** The sampled form of a test in `npm test`; the whole one in `pnpm soak`, which runs vitest with `--mode soak`. */
export function thoroughly<T>(sampled: T, whole: T): T {
  return process.env['MODE'] === 'soak' ? whole : sampled
}
