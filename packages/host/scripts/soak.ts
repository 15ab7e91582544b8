// Every scenario again and again, each time with one fault at another await: `pnpm soak`. `--placement`, `--scenario` and
// `--every 1` choose which: all faults of one scenario in a process take a few minutes.
import { tmpdir } from 'node:os'
import { parseArgs } from 'node:util'
import { createSandbox } from '@bulkhead/sandbox'
import { everyFault } from '../test/chaos/choose.ts'
import { play } from '../test/chaos/play.ts'
import { SCENARIOS } from '../test/chaos/scenarios.ts'

/** Of so many faults, one. A placement that takes long to start is tried less. */
const EVERY = { inline: 1, thread: 5, process: 20 } as const

const { values } = parseArgs({
  options: {
    placement: { type: 'string', multiple: true, default: Object.keys(EVERY) },
    scenario: { type: 'string', multiple: true, default: SCENARIOS.map(({ name }) => name) },
    every: { type: 'string' },
  },
})
const placements = (Object.keys(EVERY) as (keyof typeof EVERY)[]).filter((placement) => values.placement.includes(placement))
const scenarios = SCENARIOS.filter(({ name }) => values.scenario.includes(name))
if (placements.length * scenarios.length === 0) {
  throw new Error(`There is nothing to do: placements are ${Object.keys(EVERY).join(', ')}; scenarios ${SCENARIOS.map(({ name }) => name).join(', ')}.`)
}

let broken = 0
for (const placement of placements) {
  const sandbox = createSandbox({ workspace: tmpdir() })
  const every = Number(values.every ?? EVERY[placement])
  let [runs, missed] = [0, 0]
  for (const [turn, scenario] of scenarios.entries()) {
    const { crossings, faults } = await play(sandbox, placement, scenario)
    if (faults.length > 0) throw new Error(`${scenario.name} fails though nothing else does: ${faults.join('; ')}`)
    const chosen = everyFault(crossings).filter((_fault, index) => index % every === turn % every)
    console.log(`${placement}, ${scenario.name}: ${chosen.length} faults`)
    for (const fault of chosen) {
      const played = await play(sandbox, placement, scenario, fault)
      runs++
      if (!played.struck) missed++
      if (played.faults.length === 0) continue
      broken++
      console.error(`${placement}, ${scenario.name}, ${fault.kind} at ${fault.at}: ${played.faults.join('; ')}`)
    }
  }
  await sandbox.close()
  console.log(`${placement}: ${runs} runs, each with one fault at another await (${missed} of them came to none).`)
}
if (broken > 0) throw new Error(`${broken} runs did not end as they must.`)
