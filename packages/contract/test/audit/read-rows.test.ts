import type { JsonObject } from '@bulkhead/kit/json'
import { describe, expect, it } from 'vitest'
import { readRows, type CallRow, type RowFilter } from '../../src/audit/index.ts'
import { at, cancelled, chainOf, decided, failed, other, succeeded } from './chain.ts'

const rows = async (records: readonly JsonObject[], filter: RowFilter = {}, limit = 20) =>
  readRows([chainOf(records)], filter, limit)
const calls = async (records: readonly JsonObject[], filter: RowFilter = {}, limit = 20) =>
  (await rows(records, filter, limit)).map((row) => row.kind === 'call' ? `${row.call} ${row.state}` : row.type)

describe('rows of the audit', () => {
  it('say what a call did, for whom, what allowed it, and how it ended', async () => {
    const principal = { principal: 'ann' }
    expect(await rows([decided('c1', 5, principal), succeeded('c1', 6, principal)])).toEqual([{
      kind: 'call', at: at(5), host: '', position: 1, session: 'aaaa-1', call: 'c1', principal: 'ann', tool: 'bash',
      origin: { layer: 'bundled', extension: 'bash', version: '1.0.0', digest: 'd1' }, subject: 'git c1',
      state: 'succeeded', durationMs: 1_000, decision: {
        decision: 'allow', stage: 'rules', source: 'the rule "bash git *"', reason: 'it is allowed',
      },
    }])
  })

  it('tell how each call ended', async () => {
    expect(await calls([
      decided('c1', 1), failed('c1', 2), decided('c2', 3, { decision: 'deny' }), cancelled('c2', 4), decided('c3', 5),
      decided('c4', 6), cancelled('c4', 7), cancelled('c5', 8, { errorCode: 'InputInvalid' }),
    ])).toEqual(['c1 failed', 'c2 denied', 'c3 open', 'c4 cancelled', 'c5 cancelled'])
  })

  it('do not take what a call used while it ran for its decision', async () => {
    const use = decided('c1', 2, { use: 'fs.read', decision: 'deny', approvalKey: '/etc/passwd' })
    const [row] = await rows([decided('c1', 1), use, failed('c1', 3)]) as CallRow[]
    expect(row).toMatchObject({ subject: 'git c1', state: 'failed', decision: { decision: 'allow' } })
  })

  it('count how long people were asked', async () => {
    const question = (type: string, seconds: number, id: string) =>
      ({ type, at: at(seconds), sessionId: 'aaaa-1', callId: 'c1', correlationId: id, kind: 'Approve', source: 'host' })
    const [row] = await rows([
      question('InteractionRaised', 1, 'q1'), question('InteractionAnswered', 4, 'q1'), decided('c1', 5),
      question('InteractionRaised', 6, 'q2'), question('InteractionAnswered', 8, 'q2'),
    ])
    expect(row).toMatchObject({ askedMs: 5_000 })
  })

  it('are the latest, however many records are between those of a call', async () => {
    const many = Array.from({ length: 1_300 }, (_, index) => other(index + 2))
    const records = [
      decided('c0', 0), succeeded('c0', 1), decided('c1', 1), ...many,
      succeeded('c1', 1_400, { durationMs: 1_399_500 }),
    ]
    expect(await calls(records)).toEqual(['c0 succeeded', 'c1 succeeded'])
    expect(await calls(records, {}, 1)).toEqual(['c1 succeeded'])
  })

  it('stop reading once there are enough', async () => {
    const chain = chainOf(Array.from({ length: 1_000 }, (_, index) =>
      [decided(`c${index}`, index), succeeded(`c${index}`, index + 1)]).flat())
    expect(await readRows([chain], {}, 5)).toHaveLength(5)
    expect(chain.reads.length).toBeLessThan(4)
  })

  it('find the decision of a call whose host died, whose end has no duration', async () => {
    const many = Array.from({ length: 600 }, (_, index) => other(index + 2))
    const interrupted = failed('c1', 700, { durationMs: 0, errorCode: 'OutcomeUnknown' })
    expect(await rows([decided('c1', 1), ...many, interrupted], { onlyCalls: true }))
      .toEqual([expect.objectContaining({ subject: 'git c1', errorCode: 'OutcomeUnknown' })])
  })

  it('join what several hosts recorded about a call', async () => {
    const [first, second] = [
      chainOf([decided('c1', 1), decided('c2', 2), succeeded('c2', 3)], 'h1'),
      chainOf([failed('c1', 9, { durationMs: 0, errorCode: 'OutcomeUnknown' })], 'h2'),
    ]
    for (const chains of [[first, second], [second, first]]) {
      expect(await readRows(chains, {}, 20)).toEqual([
        expect.objectContaining({ call: 'c1', host: 'h1', state: 'failed' }), expect.objectContaining({ call: 'c2' }),
      ])
    }
  })

  it('are filtered', async () => {
    const records = [
      decided('c1', 1), succeeded('c1', 2), { ...decided('c2', 3, { principal: 'bob' }), tool: 'read' },
      { ...failed('c2', 4, { principal: 'bob' }), tool: 'read' }, { ...decided('c3', 5), sessionId: 'bbbb-2' },
      { type: 'SuppressedError', at: at(6), source: 'audit', message: 'The disk is full.' },
    ]
    expect(await calls(records)).toEqual(['c1 succeeded', 'c2 failed', 'c3 open', 'SuppressedError'])
    expect(await calls(records, { onlyCalls: true })).toEqual(['c1 succeeded', 'c2 failed', 'c3 open'])
    expect(await calls(records, { tool: 'read' })).toEqual(['c2 failed'])
    expect(await calls(records, { session: 'bb' })).toEqual(['c3 open'])
    expect(await calls(records, { principal: 'bob' })).toEqual(['c2 failed'])
    expect(await calls(records, { failed: true })).toEqual(['c2 failed', 'SuppressedError'])
    expect(await calls(records, { text: 'NO SUCH' })).toEqual(['c2 failed'])
    expect(await calls(records, { since: at(3), until: at(5) })).toEqual(['c2 failed', 'c3 open'])
  })

  it('leave out the normal course of extensions, and show each gap', async () => {
    const ended = (errorCode: string | null) =>
      ({ type: 'CompartmentEnded', at: at(1), extensionId: 'weather', errorCode, message: 'It ended.' })
    expect(await rows([other(0), ended(null), ended('CompartmentCrashed'), { ...other(3), lostBefore: 3 }])).toEqual([
      expect.objectContaining({ subject: 'weather CompartmentCrashed It ended.', isFault: true }),
      expect.objectContaining({ subject: '3 earlier records were lost; weather loaded to active', isFault: true }),
    ])
  })

  it('are read from records of any form', async () => {
    expect(await rows([{}, { type: 'ToolInvocationDecided', sessionId: 1, callId: {} }, { type: 5 }])).toHaveLength(3)
    expect(await rows([])).toEqual([])
  })
})
