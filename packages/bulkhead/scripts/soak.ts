import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { crashRounds } from '../test/crash/crash-rounds.ts'

const ROUNDS = 200

const folder = mkdtempSync(join(tmpdir(), 'bulkhead-soak-'))
try {
  const counted = await crashRounds(folder, ROUNDS)
  console.log(`${ROUNDS} rounds of SIGKILL: the state is at ${counted}, and all that was acknowledged is there.`)
} finally {
  rmSync(folder, { recursive: true, force: true })
}
