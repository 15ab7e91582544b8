import type { CommandWall } from '@bulkhead/contract'
import { expect, test } from 'vitest'
import type { Session } from '../../../src/index.ts'
import { offersOf } from '../../../src/policy/approvals/offers.ts'
import { call, createSetting, DAY_MS, opened } from './setting.ts'

const explained = async (session: Session) => {
  const { decision, approvals, chain } = await session.explain({ id: 'c', name: 'echo', arguments: { city: 'Oslo' } })
  return { decision, approvals, reasons: chain.filter(({ stage }) => stage === 'approval').map(({ reason }) => reason) }
}

test('explain shows which approval decides, its age, its expiry and its uses', async () => {
  const setting = createSetting()
  const { session } = await opened(setting, 'project')
  await call(session)
  await setting.clock.advance(3 * DAY_MS)
  await call(session)
  const before = setting.world.events.length
  const { decision, approvals, reasons } = await explained(session)
  expect(decision).toBe('allow')
  expect(approvals).toMatchObject([{ scope: 'project', uses: 1 }])
  expect(reasons).toEqual([`project approval ${approvals[0]!.id} of the key "Oslo", which answers the mode, given 3 `
    + `days ago by person, expires in 27 days, used 1 time`])
  expect(setting.world.events).toHaveLength(before)
  expect(session.approvals()).toMatchObject([{ uses: 1 }])
})

test('explain shows that an approval expired, or who revoked it, if that is why it asks', async () => {
  const setting = createSetting()
  const { session } = await opened(setting, 'project')
  await call(session)
  await setting.clock.advance(32 * DAY_MS)
  expect(await explained(session)).toMatchObject({
    decision: 'ask', approvals: [],
    reasons: [expect.stringMatching(/^the project approval \w+ of the key "Oslo" expired 2 days ago, after 0 uses$/)],
  })
  const { session: second } = await opened(setting, 'session')
  await call(second)
  await setting.approvals.revoke({ session: second.id }, 'Ada')
  await setting.clock.advance(7_200_000)
  expect((await explained(second)).reasons).toContainEqual(
    expect.stringMatching(/^the session approval \w+ of the key "Oslo" was revoked 2 hours ago by Ada, after 0 uses$/),
  )
})

test.each<[string, CommandWall | undefined, string]>([
  ['npm test', { wall: 'work' }, 'this command (npm test)'],
  ['[effects] git push [net *]', { wall: 'work', hosts: 'all' }, 'this command (git push) with the whole network'],
  [
    'curl a [net a.example] [key TOKEN]', { wall: 'work', hosts: ['a.example'], keys: ['TOKEN'] },
    'this command (curl a) which may reach a.example with the key TOKEN',
  ],
  ['[open] ls', { wall: 'open' }, 'this command (ls) without a wall'],
  ['echo [net *]', { wall: 'work' }, 'this command (echo [net *])'],
  ['[shell] a; b… (cut)', { wall: 'work', hosts: 'all' }, 'this command ([shell] a; b… (cut))'],
])('an answer to a command with the key "%s" says in words what it covers', (approvalKey, wall, words) => {
  const analysis = { approvalKey, subjects: [{ key: approvalKey }], command: { line: '' }, ...(wall && { wall }) }
  const offers = offersOf({ name: 'bash', approvalKey: undefined }, analysis as never, false)
  expect(offers.map((offer) => offer.words())).toEqual(['this call', `${words} in this session`])
  expect(offers[1]!.keys.map(({ key }) => key)).toEqual([approvalKey])
})
