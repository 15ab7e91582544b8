// `pnpm long`: what takes too long for `npm test`: the long tests, and the dry run of the next release. `.ci/run` runs it.
// Ends with `N passed, N failed` on a line of its own. A dry run that fails is a failure.
import { fileURLToPath } from 'node:url'
import { run } from './boot/run.mjs'
import { inMemory } from './check/in-memory.mjs'
import { describeCounts, totals } from './check/summary.mjs'
import { runTagged } from './check/tagged.mjs'
import { missingParts } from './machine.ts'
import { LONG } from './thoroughly.ts'

const root = fileURLToPath(new URL('..', import.meta.url))

const [tag] = LONG.tags
const counts = await runTagged(root, tag, /\bLONG\b.* from '.*\/thoroughly\.ts'|tags: \[.*'long'|^\/\/ @module-tag long/m, inMemory(root))
const release = await run('turbo', ['run', 'build', 'package', '--output-logs=new-only', '--ui=stream'], { cwd: root, env: process.env })
const dryRun = {
  name: 'dry run of a release', passed: 0, skips: [], seconds: 0, unsteady: [],
  ...release.code === 0 ? { failed: 0, problems: [] } : { failed: 1, problems: ['The dry run of the next release failed. Its output is above.'] },
}
const all = [...counts, ...release.code === 0 ? [] : [dryRun]]
process.stdout.write(`\nThe long part${describeCounts(all, missingParts()).join('\n')}\n`)
process.exitCode = totals(all).failed > 0 ? 1 : 0
