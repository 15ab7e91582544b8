import { BulkheadError, type InteractionRequest, type InteractionResponse } from '@bulkhead/contract'
import { beforeEach, describe, expect, it } from 'vitest'
import { NO_USER_FOR_PLAN } from '../plan-exit.ts'
import { sessionMemory } from '../../../test/memory.ts'
import { toolSession } from '../../../test/tool-session.ts'

const memory = sessionMemory()
const asked: InteractionRequest[] = []
let answer: () => Promise<InteractionResponse>
const services = {
  session: memory,
  interact: async (_: unknown, request: InteractionRequest) => {
    asked.push(request)
    return answer()
  },
}
const answers = (...values: string[]) => { answer = async () => ({ status: 'accepted', value: values.shift()! }) }
let sessions = 0
beforeEach(() => {
  memory.current = `s${++sessions}`
  asked.length = 0
})
const STEPS = [{ step: 'Read the code', status: 'completed' }, { step: 'Mend\n2. it', status: 'pending' }]

describe('plan_exit', () => {
  const planning = toolSession('plan', services)
  const tool = toolSession('plan_exit', services)
  const options = expect.arrayContaining([expect.objectContaining({ label: 'Accept' })])

  it('shows the plan, one line per step, and ends plan mode if the user accepts it', async () => {
    await planning.call({ steps: STEPS, enter: true })
    answers('Accept')
    expect(await tool.call({ summary: 'Two steps.' })).toEqual({ decision: 'accepted', planning: false })
    expect(asked).toEqual([
      {
        kind: 'Select', prompt: 'Two steps.\nThe plan:\n1. Read the code (completed)\n2. Mend 2. it\nDo you accept it?',
        options, multiple: false,
      },
    ])
    expect(await planning.call({})).toEqual({ steps: STEPS, planning: false })
  })

  it.each([
    ['Keep planning', 'keep_planning', 'What should change?'], ['Reject', 'rejected', 'Why do you reject the plan?'],
  ])('returns the comment for "%s", and stays in plan mode', async (label, decision, question) => {
    await planning.call({ steps: STEPS, enter: true })
    answers(label, 'Write tests first.')
    expect(await tool.call({})).toEqual({ decision, comment: 'Write tests first.', planning: true })
    expect(asked[1]).toEqual({ kind: 'Ask', prompt: question })
    expect(await planning.call({})).toMatchObject({ planning: true })
  })

  it('fails without a plan, and asks nothing', async () => {
    expect(await tool.refusal({})).toMatchObject({ code: 'InputInvalid', message: expect.stringContaining('no plan') })
    expect(asked).toEqual([])
  })

  it('fails if the plan changes while the user reads it', async () => {
    await planning.call({ steps: STEPS, enter: true })
    answer = async () => {
      await planning.call({ steps: [{ step: 'Something else' }] })
      return { status: 'accepted', value: 'Accept' }
    }
    expect(await tool.refusal({})).toMatchObject({
      code: 'ToolExecutionFailed', message: expect.stringContaining('changed'),
    })
    expect(await planning.call({})).toMatchObject({ planning: true })
  })

  it.each<[string, () => Promise<InteractionResponse>, string]>([
    [
      'no user can be asked', () => Promise.reject(new BulkheadError('InteractionUnavailable', 'No user.')),
      'InteractionUnavailable',
    ],
    ['the user does not answer', async () => ({ status: 'timeout' }), 'InteractionTimeout'],
    ['the user dismisses the question', async () => ({ status: 'rejected', reason: 'not now' }), 'ApprovalDenied'],
  ])('stays in plan mode if %s', async (_, reply, code) => {
    await planning.call({ steps: STEPS, enter: true })
    answer = reply
    expect((await tool.refusal({})).code).toBe(code)
    expect(await planning.call({})).toMatchObject({ planning: true })
  })

  it('has a fixed message if no user can be asked', async () => {
    await planning.call({ steps: STEPS })
    answer = () => Promise.reject(new BulkheadError('InteractionUnavailable', 'No user.'))
    expect((await tool.refusal({})).message).toBe(NO_USER_FOR_PLAN)
    expect(NO_USER_FOR_PLAN).toBe('No person can accept the plan here. Give the plan as your answer.')
  })
})
