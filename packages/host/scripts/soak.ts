import { tmpdir } from 'node:os'
import { createSandbox } from '@bulkhead/sandbox'
import { everyFault } from '../test/chaos/choose.ts'
import { play } from '../test/chaos/play.ts'
import { SCENARIOS } from '../test/chaos/scenarios.ts'

/** Of so many faults, one. A placement that takes long to start is tried less. */
const EVERY = { inline: 1, thread: 5, process: 20 } as const

let broken = 0
for (const placement of ['inline', 'thread', 'process'] as const) {
  const sandbox = createSandbox({ workspace: tmpdir() })
  let [runs, missed] = [0, 0]
  for (const [turn, scenario] of SCENARIOS.entries()) {
    const { crossings, faults } = await play(sandbox, placement, scenario)
    if (faults.length > 0) throw new Error(`${scenario.name} fails though nothing else does: ${faults.join('; ')}`)
    const chosen = everyFault(crossings).filter((_fault, index) => index % EVERY[placement] === turn % EVERY[placement])
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
