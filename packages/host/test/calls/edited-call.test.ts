import type { ApprovalAnswer, ApprovalRequest } from '@bulkhead/contract'
import { expect, test } from 'vitest'
import type { SessionOptions } from '../../src/index.ts'
import { createWorld, type ToolSketch } from '../twin/world.ts'
import { pausedIn } from '../policy/interaction/asking.ts'

const CITY: ToolSketch = {
  approvalKey: '{city}',
  inputSchema: {
    type: 'object', properties: { city: { type: 'string' } }, required: ['city'], additionalProperties: false,
  },
}

async function asked(answers: readonly ApprovalAnswer[], options: SessionOptions = {}) {
  const world = createWorld({ extensions: [{ tools: { echo: CITY } }] })
  const questions: ApprovalRequest[] = []
  const left = [...answers]
  const approver = { approve: async (request: ApprovalRequest) => {
    questions.push(request)
    return left.shift() ?? { decision: 'reject' as const, reason: 'enough' }
  } }
  const session = await world.host.openSession({ approver, ...options })
  const outcome = await session.call({ id: 'c', name: 'echo', arguments: { city: 'Oslo' } })
  return { world, session, questions, outcome }
}
const edit = (city: unknown, decision: ApprovalAnswer['decision'] = 'once') =>
  ({ decision, arguments: { city } }) as ApprovalAnswer

test('the call runs with the arguments of the person, who is asked once', async () => {
  const { world, session, questions, outcome } = await asked([edit('Bergen', 'session')])
  expect(outcome).toMatchObject({ type: 'output', data: { city: 'Bergen' } })
  expect(questions).toHaveLength(1)
  expect(world.eventsOf('ToolInvocationChanged')).toMatchObject([{ stage: 'approval', source: 'person' }])
  expect(world.eventsOf('ToolInvocationDecided')).toMatchObject([{ decision: 'allow', approvalKey: 'Bergen' }])
  // The answer covers the edited call and nothing more.
  expect(session.approvals()).toEqual([])
})

test('the schema judges them, and the question comes again with the fault', async () => {
  const { questions, outcome } = await asked([edit(5)])
  expect(outcome).toMatchObject({ type: 'error', error: { code: 'ApprovalDenied' } })
  expect(questions.map(({ approvalKey }) => approvalKey)).toEqual(['Oslo', 'Oslo'])
  expect(questions[1]!.reasons.at(-1)).toMatch(/^the changed arguments cannot run: .*city/)
})

test('a rule that denies them holds, and what asks about them alone is a new question', async () => {
  const rules = [
    { permission: 'echo', pattern: 'Bergen', action: 'deny' }, { permission: 'echo', pattern: 'Bodo', action: 'ask' },
  ] as const
  const { questions, outcome } = await asked([edit('Bergen'), edit('Bodo'), { decision: 'once' }], { rules })
  expect(outcome).toMatchObject({ type: 'output', data: { city: 'Bodo' } })
  expect(questions.map(({ approvalKey }) => approvalKey)).toEqual(['Oslo', 'Oslo', 'Bodo'])
  expect(questions[1]!.reasons.at(-1)).toMatch(/cannot run: the rule "echo Bergen" .* forbids/)
  expect(questions[2]!.reasons.join()).toContain('"echo Bodo"')
})

test('someone who never stops changing them is refused', async () => {
  const { questions, outcome } = await asked(Array.from({ length: 99 }, () => edit(5)))
  expect(outcome).toMatchObject({ error: { code: 'ArgumentsUnsettled' } })
  expect(questions.length).toBeLessThan(20)
})

test('not now is no denial: the call waits if it may, and ends undecided otherwise', async () => {
  const { world, outcome } = await asked([{ decision: 'later', reason: 'in a meeting' }])
  expect(outcome).toMatchObject({ type: 'error', error: { code: 'ClarificationNeeded', data: { reason: 'not-now' } } })
  expect(world.eventsOf('ToolInvocationDecided')).toEqual([])
  expect(world.eventsOf('InteractionAnswered')).toMatchObject([{ status: 'timeout' }])
  const waiting = await asked([{ decision: 'later' }], { pause: true })
  const id = pausedIn(waiting.outcome)
  expect(await waiting.session.resume(id, { decision: 'once' })).toMatchObject({ data: { city: 'Oslo' } })
})

test('a paused call can be answered with other arguments', async () => {
  const { session, outcome } = await asked([{ decision: 'later' }], { pause: true })
  expect(await session.resume(pausedIn(outcome), { decision: 'once', arguments: { city: 'Bodo' } }))
    .toMatchObject({ type: 'output', data: { city: 'Bodo' } })
})

test('of several people, one who says not now leaves the question to the others', async () => {
  const world = createWorld({ extensions: [{ tools: { echo: CITY } }] })
  const later = { interact: async () => ({ status: 'accepted', value: 'later' }) as const }
  const yes = { interact: async () => {
    await new Promise((resolve) => setImmediate(resolve))
    return { status: 'accepted', value: 'once' } as const
  } }
  const both = await world.host.openSession({ interactor: [later, yes] })
  expect(await both.call({ id: 'c', name: 'echo', arguments: { city: 'Oslo' } })).toMatchObject({ type: 'output' })
  const none = await world.host.openSession({ interactor: [later, later] })
  expect(await none.call({ id: 'd', name: 'echo', arguments: { city: 'Oslo' } }))
    .toMatchObject({ error: { code: 'ClarificationNeeded' } })
})
