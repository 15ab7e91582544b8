import { BulkheadError, type InteractionRequest, type InteractionResponse } from '@bulkhead/contract'
import type { Json } from '@bulkhead/kit/json'
import { describe, expect, it } from 'vitest'
import { NO_USER_MESSAGE } from '../question.ts'
import { toolSession } from '../../../test/tool-session.ts'

describe('question', () => {
  const asked: InteractionRequest[] = []
  let answer: (request: InteractionRequest, signal: AbortSignal) => Promise<InteractionResponse>
  const accept = (...values: Json[]) => {
    asked.length = 0
    answer = async () => ({ status: 'accepted', value: values.shift()! })
  }
  const tool = toolSession('question', {
    interact: async (_, request, signal) => {
      asked.push(request)
      return answer(request, signal)
    },
  })

  it('asks questions in order and returns a list of answers for each', async () => {
    accept('blue', 'Postgres', ['a', 'c'])
    const options = [{ label: 'Postgres', description: 'the one we have' }, { label: 'SQLite' }]
    expect(await tool.call({
      questions: [
        { question: 'Which colour?' }, { question: 'Which store?', header: 'Store', options },
        { question: 'Which?', options: [{ label: 'a' }, { label: 'b' }, { label: 'c' }], multi_select: true },
      ],
    })).toEqual({ answers: [['blue'], ['Postgres'], ['a', 'c']] })
    expect(asked).toEqual([
      { kind: 'Ask', prompt: 'Which colour?' },
      { kind: 'Select', prompt: 'Store: Which store?', options, multiple: false },
      { kind: 'Select', prompt: 'Which?', options: [{ label: 'a' }, { label: 'b' }, { label: 'c' }], multiple: true },
    ])
  })

  it('fails with a fixed message if no user can be asked', async () => {
    answer = () => Promise.reject(new BulkheadError('InteractionUnavailable', 'No user is available.'))
    expect(await tool.refusal({ questions: [{ question: 'Anyone?' }] })).toMatchObject({
      code: 'InteractionUnavailable', message: NO_USER_MESSAGE,
    })
    expect(NO_USER_MESSAGE).toBe(
      'No person can be asked here. Continue with your best guess, and say what you assumed.',
    )
  })

  it('reports that the user did not answer', async () => {
    answer = async () => ({ status: 'rejected', reason: 'not now' })
    expect(await tool.refusal({ questions: [{ question: 'Now?' }] })).toMatchObject({
      code: 'ApprovalDenied', message: 'not now',
    })
    answer = async () => ({ status: 'timeout' })
    expect((await tool.refusal({ questions: [{ question: 'Now?' }] })).code).toBe('InteractionTimeout')
  })

  it('refuses two options with the same label', async () => {
    accept('a')
    expect(
      (await tool.refusal({ questions: [{ question: 'Which?', options: [{ label: 'a' }, { label: 'a' }] }] })).code,
    ).toBe('InputInvalid')
    expect(asked).toEqual([])
  })

  it('withdraws the question when the call is cancelled', async () => {
    const cancel = new AbortController()
    const withdrawn = Promise.withResolvers<unknown>()
    answer = (_, signal) => new Promise((_resolve, reject) => {
      signal.addEventListener('abort', () => {
        withdrawn.resolve(signal.reason)
        reject(signal.reason as Error)
      })
      cancel.abort(new Error('enough'))
    })
    await expect(tool.call({ questions: [{ question: 'Still there?' }] }, cancel.signal)).rejects.toThrow('enough')
    expect(await withdrawn.promise).toMatchObject({ message: 'enough' })
  })

  it('uses a fixed approval key', async () => {
    expect(await tool.key({ questions: [] })).toBe('interactive')
  })
})

describe('question without a user', () => {
  const tool = toolSession('question')
  it('fails with the same message', async () => {
    expect(await tool.refusal({ questions: [{ question: 'Anyone?' }] })).toMatchObject({ message: NO_USER_MESSAGE })
  })
})
