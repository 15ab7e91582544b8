import { expect, it } from 'vitest'
import { thoroughly } from '../../scripts/thoroughly.ts'
import { QUICK, runSubject } from '../src/harness/run.ts'
import { bridgesStart } from '../src/subjects/bridges-start.ts'
import { bridgesList, bridgesServe } from '../src/subjects/bridges.ts'

it('compares a served tool with the SDK, and the list of 25 servers with 100 ms', () => {
  expect([bridgesServe, bridgesList, bridgesStart].flatMap(({ ratios }) => ratios)).toMatchObject([
    { side: 'bulkhead mcp', against: 'bare SDK server', is: '≤', ratio: 1.3 },
    { side: '25 servers, none started', against: '100 ms', is: '≤', ratio: 1 },
    { side: 'in a jail', against: 'without a jail', is: '≤', ratio: 1.2 },
  ])
})

it.each(thoroughly([], [bridgesList, bridgesServe, bridgesStart]))('measures $title', async (subject) => {
  await expect(runSubject(subject, QUICK)).resolves.toBeDefined()
})
