// Kills a writing process 200 times at random moments: `pnpm soak`. `--rounds` says another number, `--seed` chooses the same
// moments again. What is found broken stays in its folder, to be looked at.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { killRounds } from '../test/sqlite/kill-rounds.ts'

const { values } = parseArgs({
  options: { rounds: { type: 'string', default: '200' }, seed: { type: 'string', default: `${Date.now() % 2 ** 32}` } },
})
const rounds = Number(values.rounds)
const seed = Number(values.seed)
const folder = mkdtempSync(join(tmpdir(), 'bulkhead-soak-'))
try {
  const acknowledged = await killRounds(folder, { rounds, seed, onFile: tell })
  console.log(`${rounds} rounds of SIGKILL: every store is whole, and all ${acknowledged} acknowledged records are there.`)
} catch (error) {
  console.error(`Broken with --rounds ${rounds} --seed ${seed}, to be seen in ${folder}`)
  throw error
}
rmSync(folder, { recursive: true, force: true })

function tell(round: number, acknowledged: number): void {
  console.log(`${String(round).padStart(5)} of ${rounds}: ${acknowledged} records were acknowledged`)
}
