import fc from 'fast-check'
import { describe, it } from 'vitest'
import { needs } from '../../../../scripts/machine.ts'
import { LONG, thoroughly } from '../../../../scripts/thoroughly.ts'
import { memoryLands, postgresLands, sqliteLands } from './lands.ts'
import { PICKS, STEPS, type Lands, type Step } from './model.ts'
import { World } from './world.ts'

const step: fc.Arbitrary<Step> = fc.record({
  does: fc.constantFrom(...STEPS), host: fc.nat({ max: 2 }), pick: fc.nat({ max: PICKS - 1 }), isQuick: fc.boolean(),
})

/** For however long: a run that fails prints its seed, and the fewest steps that fail. */
async function holds(open: () => Promise<Lands>, numRuns: number): Promise<void> {
  const lands = await open()
  const seed = Number(process.env['BULKHEAD_SEED'] ?? Date.now() % 2 ** 31)
  const steps = fc.array(step, { minLength: 1, maxLength: 60, size: 'max' })
  try {
    await fc.assert(fc.asyncProperty(steps, (all) => new World(lands).run(all)), { seed, numRuns, endOnFailure: false })
  } finally {
    await lands.close()
  }
}

describe('the protocol of hosts on one store', () => {
  it('holds in memory', () => holds(memoryLands, thoroughly(300, 5_000)))
  it('holds in SQLite, with a connection for each host', LONG, () => holds(sqliteLands, thoroughly(8, 1_000)))
  it('holds in PostgreSQL, with connections that are held back and cut', needs('PostgreSQL'),
    () => holds(postgresLands, thoroughly(16, 2_000)))
})
