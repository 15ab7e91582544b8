import { writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { DatabaseSync } from 'node:sqlite'
import type { BulkheadEvent } from '@bulkhead/contract'
import { createSandbox } from '@bulkhead/sandbox'
import { expect, test } from 'vitest'
import { ChaosWorld } from './chaos-world.ts'
import { SCENARIOS } from './scenarios.ts'
import { verifyAfter, verifyLeft } from './verify.ts'

const isSuccess = ({ type }: BulkheadEvent): boolean => type === 'ToolInvocationSucceeded'
type Tampering = readonly [what: string, complaint: RegExp, tamper: (world: ChaosWorld) => void]

const TAMPERED: readonly Tampering[] = [
  [
    'a second end', /was begun 1 times and ended/,
    ({ events }) => {
      events.push(events.find(isSuccess)!)
    },
  ],
  [
    'a missing end', /was begun 1 times and ended: $/,
    ({ events }) => {
      events.splice(events.findIndex(isSuccess), 1)
    },
  ],
  [
    'a timer that is left', /1 timers are left/,
    ({ clock }) => {
      clock.after(3_600_000, () => {})
    },
  ],
  ['a changed record', /the audit is broken at/, ({ file }) => change(file, `UPDATE audit SET record = '{}'`)],
  [
    'a lost record', /not on record, and not reported/,
    ({ file }) => change(file, 'DELETE FROM audit; DELETE FROM audit_end'),
  ],
  [
    'a call that stays open', /open in the journal/,
    ({ file }) => writeFileSync(
      `${file}-notes-gone`, '+1 {"form":1,"sessionId":"s","tool":"t"}\n+2 [1,"c1",0]\n',
    ),
  ],
  [
    'an outcome that is none', /no outcome/,
    ({ outcomes }) => {
      outcomes.push({ type: 'error', error: { code: 'Odd' }, metadata: { call_id: 'odd' } } as never)
    },
  ],
]

function change(file: string, statement: string): void {
  using database = new DatabaseSync(file)
  database.exec(statement)
}

test.each(TAMPERED)('the checks detect %s', async (_, complaint, tamper) => {
  const sandbox = createSandbox({ workspace: tmpdir() })
  const world = await ChaosWorld.open(sandbox, 'inline')
  await SCENARIOS[0]!.run(world)
  await world.host.close()
  tamper(world)
  await verifyLeft(world)
  world.clock.pass(7_200_000)
  await world.dispose()
  await sandbox.close()
  expect(world.faults.join('\n')).toMatch(complaint)
})

test('the checks detect a budget that is not released, and a host that does not answer', async () => {
  const sandbox = createSandbox({ workspace: tmpdir() })
  const world = await ChaosWorld.open(sandbox, 'inline')
  await world.host.runWorkflow({ calls: 2 }, () => verifyAfter(world, 3))
  await world.host.runWorkflow({ calls: 0 }, () => verifyAfter(world, 2))
  await world.host.close()
  await world.dispose()
  await sandbox.close()
  const complaints = [/2 calls ran on a budget of 3/, /does not answer any more/]
  expect(world.faults).toEqual(complaints.map((complaint) => expect.stringMatching(complaint)))
})
