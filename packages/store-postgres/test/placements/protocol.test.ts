import fc from 'fast-check'
import { describe, it } from 'vitest'
import { needs } from '../../../../scripts/machine.ts'
import { thoroughly } from '../../../../scripts/thoroughly.ts'
import { ACTS, Place, World, type Step } from './world.ts'

const step: fc.Arbitrary<Step> = fc.record({
  does: fc.constantFrom(...ACTS), pick: fc.nat({ max: 5 }), isQuick: fc.boolean(),
})

describe('the protocol of a caller, two workers and their database', needs('PostgreSQL'), () => {
  it('passes a first effect in one attempt, redeems a ticket once, and ends each call', async () => {
    const place = await Place.open()
    const seed = Number(process.env['BULKHEAD_SEED'] ?? Date.now() % 2 ** 31)
    const steps = fc.array(step, { minLength: 1, maxLength: 60, size: 'max' })
    try {
      await fc.assert(fc.asyncProperty(steps, (all) => new World(place).run(all)),
        { seed, numRuns: thoroughly(20, 1_000), endOnFailure: false })
    } finally {
      await place.close()
    }
  })
})
