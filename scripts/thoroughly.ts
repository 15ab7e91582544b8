import { runsIf } from './skips.ts'

/** The sampled form of a test in `npm test`; the whole one in `pnpm soak`, which runs vitest with `--mode soak`. */
export function thoroughly<T>(sampled: T, whole: T): T {
  return process.env['MODE'] === 'soak' ? whole : sampled
}

/** Options of a test that takes too long for `npm test`. */
export const ONLY_IN_SOAK = runsIf(thoroughly(false, true), 'only in pnpm soak')
