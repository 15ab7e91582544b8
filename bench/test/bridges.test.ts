import { expect, it } from 'vitest'
import { thoroughly } from '../../scripts/thoroughly.ts'
import { QUICK, runSubject } from '../src/harness/run.ts'
import { bridgesList, bridgesServe } from '../src/subjects/bridges.ts'

it('compares a served tool with the SDK, and the list of 25 servers with 100 ms', () => {
  expect([bridgesServe, bridgesList].flatMap(({ ratios }) => ratios)).toMatchObject([
    { side: 'bulkhead mcp', against: 'bare SDK server', is: '≤', ratio: 1.3 },
    { side: '25 servers, none started', against: '100 ms', is: '≤', ratio: 1 },
  ])
})

it.each(thoroughly([], [bridgesList, bridgesServe]))('measures $title', async (subject) => {
  await expect(runSubject(subject, QUICK)).resolves.toBeDefined()
}, 120_000)
