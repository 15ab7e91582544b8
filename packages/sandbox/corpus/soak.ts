// Every attack by itself in both placements, then the controls, as a table: `pnpm soak`. Ends with 1 when something that
// must be contained is not, or when an attack does not reach its aim where nothing confines it.
import { attackOf } from './cases/index.ts'
import { KNOWN_HOLES } from './known-holes.ts'
import { REACHING, runAll, runControls } from './run/measure.ts'
import type { Observation } from './run/verdict.ts'
import { faultsOf, reached } from './run/verdict.ts'

const lanes = 2
const began = performance.now()
const print = (line: string): void => void process.stdout.write(`${line}\n`)
let wrong = 0

function judge(observation: Observation): void {
  const { id, placement, tookMs } = observation
  const attack = attackOf(id)
  const faults = faultsOf(attack, observation)
  const required = attack.placements.includes(placement)
  const word = faults.length === 0 ? 'contained' : KNOWN_HOLES.has(id) ? 'KNOWN HOLE' : required
    ? 'NOT CONTAINED' : 'not contained, need not be'
  if (faults.length > 0 && required && !KNOWN_HOLES.has(id)) wrong++
  print(`${String(id).padStart(3)}  ${placement.padEnd(7)}  ${`${tookMs} ms`.padStart(9)}  ${word.padEnd(26)}  ${attack.title}`)
  for (const fault of faults) print(`${' '.repeat(26)}${fault}`)
}

function control(observation: Observation): void {
  const { id } = observation
  if (reached(observation)) return
  wrong++
  print(`${String(id).padStart(3)}  control   does not reach its aim where nothing confines it: ${attackOf(id).title}`)
}

print('every attack by itself')
const observations = await runAll({ lanes, onObservation: judge })
print(`\nthe same code where nothing confines it (${REACHING.length})`)
await runControls(REACHING, { lanes, onObservation: control })
print(`\n${observations.length} runs, ${wrong} wrong, ${Math.round((performance.now() - began) / 1_000)} s`)
process.exitCode = wrong === 0 ? 0 : 1
