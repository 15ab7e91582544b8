import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

/** One configuration for every package: sources as they are, real threads and processes, a report to count. */
export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    pool: 'forks',
    // The files of a package share a process, one after the other: importing everything again for each took a third of the time.
    // So a test leaves nothing behind in it, and finds nothing there.
    isolate: false,
    // Real processes on a machine that may have better things to do: only what hangs takes so long.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // What tests start from the sources is compiled once for all of them.
    env: { NODE_COMPILE_CACHE: fileURLToPath(new URL('node_modules/.cache/compiled', import.meta.url)) },
    reporters: ['default', 'json'],
    outputFile: { json: 'reports/tests.json' },
  },
})
