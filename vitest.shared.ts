import { defineConfig } from 'vitest/config'

/** One configuration for every package: sources as they are, real threads and processes, a report to count. */
export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    pool: 'forks',
    testTimeout: 30_000,
    hookTimeout: 30_000,
    reporters: ['default', 'json'],
    outputFile: { json: 'reports/tests.json' },
  },
})
