import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

const HANGS_MS = 600_000

/** One configuration for every package: sources as they are, real threads and processes, a report to count. */
export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    pool: 'forks',
    // The files of a package share a process, one after the other: importing everything again for each took a third of the time.
    // So a test leaves nothing behind in it, and finds nothing there.
    isolate: false,
    // Node imports the sources itself, as programs that use the packages do. Transforming them took a tenth of the time.
    experimental: { viteModuleRunner: false, nodeLoader: false },
    // Limits are for what hangs, however busy the machine is.
    testTimeout: HANGS_MS,
    hookTimeout: HANGS_MS,
    // The summary of `npm test` shows these messages.
    chaiConfig: { truncateThreshold: 1_000 },
    expect: { poll: { timeout: HANGS_MS / 2 } },
    // What tests start from the sources is compiled once for all of them.
    env: { NODE_COMPILE_CACHE: fileURLToPath(new URL('node_modules/.cache/compiled', import.meta.url)) },
    reporters: ['default', 'json'],
    outputFile: { json: 'reports/tests.json' },
  },
})
