import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { killRounds } from '../test/sqlite/kill-rounds.ts'

const ROUNDS = 200

const folder = mkdtempSync(join(tmpdir(), 'bulkhead-soak-'))
try {
  const acknowledged = await killRounds(folder, ROUNDS)
  console.log(`${ROUNDS} rounds of SIGKILL: every store is whole, and all ${acknowledged} acknowledged records are there.`)
} finally {
  rmSync(folder, { recursive: true, force: true })
}
