import { tmpdir } from 'node:os'
import { createSandbox, type PooledSandbox } from '@bulkhead/sandbox'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { thoroughly } from '../../../../scripts/thoroughly.ts'
import { someFaults } from './choose.ts'
import { children } from './hulls.ts'
import { play } from './play.ts'
import { SCENARIOS } from './scenarios.ts'

/** Sampling rate: slow placements run fewer faults here, and all of them in `pnpm soak`. */
const EVERY = thoroughly({ inline: 384, thread: 480, process: 960 }, { inline: 12, thread: 40, process: 60 })

describe.each(['inline', 'thread', 'process'] as const)(
  'in the placement %s, with any fault at any await',
  (placement) => {
    let sandbox: PooledSandbox
    beforeAll(() => {
      sandbox = createSandbox({ workspace: tmpdir() })
    })
    afterAll(async () => {
      await sandbox.close()
      expect(sandbox.usage()).toMatchObject({ thread: { used: 0, spare: 0 }, process: { used: 0, spare: 0 } })
      expect(children()).toEqual([])
    })

    // They take turns, so that each scenario runs in one placement; in `pnpm soak` it runs in all.
    const turns = thoroughly({ inline: [0, 2], thread: [3], process: [1] }, undefined)?.[placement]
    const scenarios = SCENARIOS.map((scenario, turn) => [scenario.name, scenario, turn] as const)
    test.each(scenarios.filter(([, , turn]) => turns?.includes(turn % 4) ?? true))(
      'a call %s settles once, and the host and its records stay intact',
      async (_, scenario, turn) => {
        const whole = await play(sandbox, placement, scenario)
        expect(whole).toMatchObject({ faults: [], verdicts: scenario.expected })
        const every = EVERY[placement]
        const faults = someFaults(whole.crossings, turn).filter((_fault, index) => index % every === turn % every)
        const broken: unknown[] = []
        for (const fault of faults) {
          const { faults: complaints } = await play(sandbox, placement, scenario, fault)
          if (complaints.length > 0) broken.push({ ...fault, complaints })
        }
        expect(broken).toEqual([])
      },
    )
  },
)
