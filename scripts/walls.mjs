// `pnpm walls`: runs the tests of walls, which include the attack corpus, as on a machine without bubblewrap.
// `pnpm check` runs them with bubblewrap if it is installed. Where one of the two cannot be done, this fails.
// Ends with `N passed, N failed` on a line of its own.
import { fileURLToPath } from 'node:url'
import { describeCounts, totals } from './check/summary.mjs'
import { runTagged } from './check/tagged.mjs'
import { has, missingParts, WALLS, withoutBubblewrap } from './machine.ts'

const MARKS = /^\/\/ @module-tag walls|\bWALLS\b.* from '.*\/machine\.ts'|needs\([^)]*'bubblewrap'|tags: \[.*'walls'/

const prefix = withoutBubblewrap()
const fault = !has('bubblewrap') ? 'bubblewrap does not work here, so nothing has been tested with it. Install it and allow user namespaces.'
  : prefix === undefined ? 'this user may not hide bubblewrap with a mount, so nothing can be tested without it.' : undefined
if (prefix === undefined || fault !== undefined) {
  process.stdout.write(`\nNot run: ${fault}\n\n0 passed, 1 failed\n`)
  process.exitCode = 1
} else {
  const counts = await runTagged(fileURLToPath(new URL('..', import.meta.url)), WALLS.tags[0], MARKS, prefix)
  process.stdout.write(`\nThe walls without bubblewrap${describeCounts(counts, [...missingParts(), 'bubblewrap']).join('\n')}\n`)
  process.exitCode = totals(counts).failed > 0 ? 1 : 0
}
