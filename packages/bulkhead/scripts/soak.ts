// `pnpm soak` kills a host at 200 random moments of its work, one after the other on one store. `--rounds` sets another
// number, `--seed` repeats the same moments. The folder of a failed round is kept for inspection.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { crashRounds } from '../test/crash/crash-rounds.ts'

const { values } = parseArgs({
  options: { rounds: { type: 'string', default: '200' }, seed: { type: 'string', default: `${Date.now() % 2 ** 32}` } },
})
const rounds = Number(values.rounds)
const seed = Number(values.seed)
const folder = mkdtempSync(join(tmpdir(), 'bulkhead-soak-'))
try {
  const counted = await crashRounds(folder, { rounds, seed, onRound: tell })
  console.log(`${rounds} rounds of SIGKILL: the state is at ${counted}, and all that was acknowledged is there.`)
} catch (error) {
  console.error(`Broken with --rounds ${rounds} --seed ${seed}, to be seen in ${folder}`)
  throw error
}
rmSync(folder, { recursive: true, force: true })

function tell(round: number, counted: number): void {
  if (round % 10 === 0) console.log(`${String(round).padStart(5)} of ${rounds}: the state is at ${counted}`)
}
