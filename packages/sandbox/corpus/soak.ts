// The complete corpus: `pnpm soak`. Runs every attack in its own compartment in both placements, the same code where
// nothing confines it, and again without each layer of the worker, then compares the results with the recorded ones.
// `pnpm record` records them and updates the security page. The exit code is 1 if an attack is not contained that must
// be, if an attack does not succeed where nothing confines it, or if the results differ from the recorded ones.
import { isDeepStrictEqual } from 'node:util'
import { PLACEMENTS } from './model/case.ts'
import { attackOf } from './cases/index.ts'
import { readRecord, writeRecord, writeSection } from './record.ts'
import { Lane } from './run/lane.ts'
import type { Record } from './run/measure.ts'
import { CONFINED, notContainedInThread, REACHING, reachedWithout, runAll, runControls } from './run/measure.ts'
import type { Observation } from './run/verdict.ts'
import { faultsOf, reached } from './run/verdict.ts'
import { renderSection } from './section.ts'

const lanes = [new Lane(), new Lane()]
const began = performance.now()
const print = (line: string): void => void process.stdout.write(`${line}\n`)
let wrong = 0

function report(observation: Observation): void {
  const { id, placement, tookMs } = observation
  const attack = attackOf(id)
  const faults = faultsOf(attack, observation)
  const required = attack.placements.includes(placement)
  const word = faults.length === 0 ? 'contained' : required ? 'NOT CONTAINED' : 'not contained, need not be'
  if (faults.length > 0 && required) wrong++
  const columns = [String(id).padStart(3), placement.padEnd(7), `${tookMs} ms`.padStart(9), word.padEnd(26)]
  print(`${columns.join('  ')}  ${attack.title}`)
  for (const fault of faults) print(`${' '.repeat(26)}${fault}`)
}

/** Prints the progress of attacks that are otherwise printed only if they fail. */
function counter(all: number): () => void {
  let done = 0
  return () => {
    if (++done % 50 === 0 || done === all) print(`${String(done).padStart(5)} of ${all}`)
  }
}

function control(observation: Observation): void {
  const { id, seen, fate } = observation
  if (reached(observation)) return
  wrong++
  print(`${String(id).padStart(3)}  control   does not succeed where nothing confines it: ${attackOf(id).title}`)
  print(`${' '.repeat(15)}${JSON.stringify({ seen, fate })}`)
}

async function compare(measured: Record): Promise<void> {
  const recorded = await readRecord()
  for (const part of ['notContainedInThread', 'withoutLockdown', 'withoutPermission'] as const) {
    if (isDeepStrictEqual(measured[part], recorded[part])) continue
    wrong++
    const [before, now] = [recorded[part], measured[part]].map((value) => JSON.stringify(value))
    print(`${part} is recorded as ${before}\n  and was measured as ${now}`)
  }
}

print('every attack in its own compartment')
const observations = await runAll({ lanes, onObservation: report })
print('\nthe same code where nothing confines it')
const oneMore = counter(REACHING.length)
await runControls(REACHING, {
  lanes,
  onObservation: (observation) => {
    control(observation)
    oneMore()
  },
})
print('\nwithout lockdown, and without permission')
const onObservation = counter(CONFINED.length * PLACEMENTS.length * 2)
const record: Record = {
  node: process.versions.node,
  notContainedInThread: notContainedInThread(observations),
  withoutLockdown: await reachedWithout('lockdown', { lanes, onObservation }),
  withoutPermission: await reachedWithout('native', { lanes, onObservation }),
}
await Promise.all(lanes.map((lane) => lane.close()))
if (!process.argv.includes('--record')) await compare(record)
else if (wrong === 0) {
  await writeRecord(record)
  await writeSection(renderSection(record))
}
print(`\n${observations.length} runs, ${wrong} wrong, ${Math.round((performance.now() - began) / 1_000)} s`)
process.exitCode = wrong === 0 ? 0 : 1
