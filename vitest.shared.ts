import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import { needs } from './scripts/machine.ts'
import { runsIf } from './scripts/skips.ts'
import { SummaryReporter } from './scripts/vitest/report.ts'
import { Sequencer } from './scripts/vitest/sequencer.ts'

/** How long a test may wait without progress. `scripts/vitest/runner.ts` and `expect.poll` say what it waits for. */
const WAIT_MS = 60_000
/** Only for what would never end. A test or hook that makes progress may take its time on a busy machine. */
const HANGS_MS = 600_000

const path = (file: string): string => fileURLToPath(new URL(file, import.meta.url))

/** One configuration for every package: sources as they are, real threads and processes, a report to count. */
export default defineConfig(({ mode }) => ({
  test: {
    // A folder of `src` may have its tests beside it, as those of the bundled tools do.
    include: ['test/**/*.test.ts', 'src/*/test/**/*.test.ts'],
    pool: 'forks',
    // The files of a package share a process, one after the other: importing everything again for each took a third of the time.
    // So a test leaves nothing behind in it, and finds nothing there.
    isolate: false,
    // Node imports the sources itself, as programs that use the packages do. Transforming them took a tenth of the time.
    experimental: { viteModuleRunner: false, nodeLoader: false },
    runner: path('scripts/vitest/runner.ts'),
    sequence: { sequencer: Sequencer },
    tags: [
      { name: 'walls', description: 'Depends on the walls of the system. `pnpm walls` runs it without bubblewrap.' },
      { name: 'long', description: 'Takes long. `pnpm long` runs it.', ...runsIf(mode !== 'test', 'only in pnpm long') },
      { name: 'git', description: 'Needs git.', ...needs('git') },
    ],
    testTimeout: HANGS_MS,
    // What fails once and then passes does not stop a run: the summary names it as unsteady, with its first error.
    retry: 1,
    hookTimeout: mode === 'soak' ? HANGS_MS : WAIT_MS,
    // The summary of `npm test` shows these messages.
    chaiConfig: { truncateThreshold: 1_000 },
    expect: { poll: { timeout: mode === 'soak' ? HANGS_MS : WAIT_MS } },
    // What tests start from the sources is compiled once for all of them: `scripts/check.mjs` fills it. The TypeScript
    // compiler that a test starts ends before its garbage collection pays off.
    env: { NODE_COMPILE_CACHE: path('node_modules/.cache/compiled'), GOGC: 'off' },
    reporters: ['default', new SummaryReporter()],
    outputFile: { json: 'reports/tests.json' },
  },
}))
