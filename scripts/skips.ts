import type { TestOptions } from 'vitest'

declare module 'vitest' {
  interface TaskMeta {
    /** Why it does not run here. The summary of `npm test` counts skipped tests by this. */
    skipped?: string
  }
}

/** Options of a test, or of a group of tests, that is skipped for this reason unless the condition holds. */
export const runsIf = (condition: boolean, otherwise: string): TestOptions =>
  condition ? {} : { skip: true, meta: { skipped: otherwise } }
