import { expect, it } from 'vitest'
import { LONG } from '../../scripts/thoroughly.ts'
import { brokerRead } from '../src/subjects/broker-read.ts'
import { earlyCalls, firstAnswer, firstRead } from '../src/subjects/early.ts'
import { QUICK, runSubject } from '../src/harness/run.ts'

it('compares first answers and early calls with the SDK, and the first read with 3 ms', () => {
  const goals = [firstAnswer, earlyCalls, firstRead].flatMap(({ ratios }) => ratios.filter((ratio) => 'is' in ratio))
  expect(goals).toMatchObject([
    { side: 'bulkhead from createHost', measure: 'first', against: 'MCP SDK over stdio', is: '≤', ratio: 0.8 },
    { side: 'bulkhead call', measure: 'first', against: 'MCP SDK over stdio', is: '≤', ratio: 1 },
    { side: 'bulkhead', measure: 'early', against: 'MCP SDK over stdio', is: '≤', ratio: 1.5 },
    { side: 'first read', measure: 'first', against: '3 ms', is: '≤', ratio: 1 },
  ])
})

// The others need built packages.
it('measures a read through the broker', LONG, async () => {
  await expect(runSubject(brokerRead, QUICK)).resolves.toMatchObject({ rounds: 3 })
})
