// Kills a writer process 200 times at random: `pnpm soak`. `--rounds` sets another number, and `--seed` repeats a run.
// The files of a failed run are kept.
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
  console.log(
    `${rounds} rounds of SIGKILL: all stores are intact, and all ${acknowledged} acknowledged records are stored.`,
  )
} catch (error) {
  console.error(`Failed with --rounds ${rounds} --seed ${seed}. The files are in ${folder}`)
  throw error
}
rmSync(folder, { recursive: true, force: true })

function tell(round: number, acknowledged: number): void {
  console.log(`${String(round).padStart(5)} of ${rounds}: ${acknowledged} records were acknowledged`)
}
