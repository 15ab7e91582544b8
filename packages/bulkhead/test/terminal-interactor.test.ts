import { once } from 'node:events'
import { PassThrough } from 'node:stream'
import { describe, expect, it } from 'vitest'
import type { InteractionRequest } from '@bulkhead/contract'
import { createTerminalInteractor } from '../src/index.ts'

async function answer(request: InteractionRequest, typed: string) {
  const input = new PassThrough()
  const output = new PassThrough()
  let shown = ''
  output.on('data', (chunk) => { shown += chunk })
  const interactor = createTerminalInteractor({ input, output })
  const response = interactor.interact({ correlationId: 'q', issuedAt: '', source: 'weather', request }, new AbortController().signal)
  if (shown === '') await once(output, 'data')
  input.write(typed + '\n')
  return { response: await response, shown }
}

const approval = {
  callId: 'c', tool: 'forecast', label: 'Forecast', origin: 'weather@1 (global)', approvalKey: 'Oslo',
  argumentsText: '{"city":"\u001b[2JOslo"}', touches: ['net: api.example'], reasons: ['the key is new'],
}

describe('a person at a terminal', () => {
  it.each([
    ['y', { decision: 'once' }],
    ['s', { decision: 'session' }],
    ['n', { decision: 'reject' }],
    ['', { decision: 'reject' }],
    ['not in winter', { decision: 'reject', reason: 'not in winter' }],
  ])('answers an approval with "%s"', async (typed, value) => {
    const { response, shown } = await answer({ kind: 'Approve', approval }, typed)
    expect(response).toEqual({ status: 'accepted', value })
    expect(shown).toContain('\\u{1b}[2JOslo')
    expect(shown).toContain('api.example')
    expect(shown).toContain('Oslo')
    expect(shown).not.toContain('\u001b[2J')
  })

  it.each([
    [{ kind: 'Ask', prompt: 'Which city?' }, 'Oslo', { status: 'accepted', value: 'Oslo' }],
    [{ kind: 'Confirm', prompt: 'Sure?' }, 'yes', { status: 'accepted', value: true }],
    [{ kind: 'Confirm', prompt: 'Sure?' }, '', { status: 'accepted', value: false }],
    [{ kind: 'Select', prompt: 'Which?', options: [{ label: 'a' }, { label: 'b' }] }, '2', { status: 'accepted', value: 'b' }],
    [{ kind: 'Select', prompt: 'Which?', options: [{ label: 'a' }, { label: 'b' }], multiple: true }, '1, 2', { status: 'accepted', value: ['a', 'b'] }],
    [{ kind: 'Select', prompt: 'Which?', options: [{ label: 'a' }] }, '7', { status: 'rejected', reason: 'no such option' }],
    [{ kind: 'trustProject', path: '/p', summary: 's' }, 'y', { status: 'accepted', value: 'once' }],
    [{ kind: 'trustProject', path: '/p', summary: 's' }, 't', { status: 'accepted', value: 'trusted' }],
    [{ kind: 'trustProject', path: '/p', summary: 's' }, 'd', { status: 'accepted', value: 'declined' }],
    [{ kind: 'trustProject', path: '/p', summary: 's' }, '', { status: 'accepted', value: false }],
  ] as const)('answers %o', async (request, typed, response) => {
    expect((await answer(request, typed)).response).toEqual(response)
  })

  it('a question that is taken back is rejected', async () => {
    const cancel = new AbortController()
    const interactor = createTerminalInteractor({ input: new PassThrough(), output: new PassThrough() })
    const response = interactor.interact({ correlationId: 'q', issuedAt: '', source: 'x', request: { kind: 'Ask', prompt: '?' } }, cancel.signal)
    cancel.abort()
    expect(await response).toMatchObject({ status: 'rejected' })
  })
})
