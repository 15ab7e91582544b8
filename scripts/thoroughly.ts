import type { TestOptions } from 'vitest'
import { runsIf } from './skips.ts'

/** The sampled form of a test in `npm test`; the whole one in `pnpm soak`, which runs vitest with `--mode soak`. */
export function thoroughly<T>(sampled: T, whole: T): T {
  return process.env['MODE'] === 'soak' ? whole : sampled
}

/** Options of a test that takes too long for `npm test`. `pnpm long` runs it, and so does `.ci/run`. */
export const LONG = { tags: ['long'] } as const satisfies TestOptions

/** Options of a test that takes too long for every change. */
export const ONLY_IN_SOAK = runsIf(thoroughly(false, true), 'only in pnpm soak')
