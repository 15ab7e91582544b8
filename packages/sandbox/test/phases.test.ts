import type { CompartmentServices, InteractionRequest } from '@bulkhead/contract'
import { PLACEMENTS } from '@bulkhead/contract'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { codeOf, invocation, newSandbox, refusal, requestIn, toolOf } from './fixture.ts'

const tools = [toolOf('run', { capabilities: ['interact'] })]
/** Signs in during init, and returns what it got when it is called. */
const signingIn = (init: string): string => `
  let token = null
  export default {
    async init(context) { ${init} },
    async activate(context) { token = token ?? String('interact' in context) },
    tools: { run: { execute: () => token } },
  }`
const byDeviceCode = signingIn(`
  await context.interact.deviceCode(
    { url: 'https://example.com/device', code: 'AB-12', expiresAt: '2030-01-01T00:00:00.000Z' },
  )
  token = await context.interact.password('Token?')`)

describe.each(PLACEMENTS)('the phases of an extension in the placement %s', (placement) => {
  it('let init ask the user for a device code and a password', async () => {
    const asked: (readonly [string | null, InteractionRequest])[] = []
    const interact: CompartmentServices['interact'] = async (callId, request) => {
      asked.push([callId, request])
      return { status: 'accepted', value: request.kind === 'Auth.Password' ? 'hunter2' : true }
    }
    const session = await newSandbox().open(
      await requestIn({ placement, source: byDeviceCode, tools, services: { interact } }),
    )
    await session.lifecycle('init')
    await session.lifecycle('activate')
    expect(asked).toEqual([
      [null, {
        kind: 'Auth.DeviceCode', url: 'https://example.com/device', code: 'AB-12',
        expiresAt: '2030-01-01T00:00:00.000Z',
      }],
      [null, { kind: 'Auth.Password', prompt: 'Token?' }],
    ])
    expect(await session.call(invocation())).toBe('hunter2')
  })

  it('do not count the time of a question against phaseMs, but the time after it', async () => {
    const limits = { phaseMs: 600 }
    const seen = { questions: 0, code: '' }
    const interact: CompartmentServices['interact'] = async () => {
      vi.advanceTimersByTime(10 * limits.phaseMs)
      seen.questions++
      return { status: 'accepted', value: 'x' }
    }
    const open = async (init: string) =>
      newSandbox().open(await requestIn({ placement, source: signingIn(init), tools, limits, services: { interact } }))
    const session = await open('token = await context.interact.password("Token?")')
    const stuck = await open('await context.interact.password("Token?"); await new Promise(() => {})')
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
    onTestFinished(() => void vi.useRealTimers())
    await session.lifecycle('init')
    const turn = (): Promise<void> => new Promise((resolve) => { setImmediate(resolve) })
    void codeOf(stuck.lifecycle('init')).then((code) => void (seen.code = code))
    while (seen.questions < 2) await turn()
    expect(seen.code).toBe('')
    while (seen.code === '') {
      vi.advanceTimersByTime(limits.phaseMs / 10)
      await turn()
    }
    expect(seen.code).toBe('LifecycleTimeout')
  })

  it('have `interact` in init only, and only if a tool may use it', async () => {
    const services: Partial<CompartmentServices> = { interact: async () => ({ status: 'accepted', value: 'x' }) }
    const source = signingIn('token = String("interact" in context)')
    const session = await newSandbox().open(await requestIn({ placement, source, services }))
    await session.lifecycle('init')
    await session.lifecycle('activate')
    expect(await session.call(invocation())).toBe('false')
    const other = await newSandbox().open(await requestIn({ placement, source: signingIn(''), tools, services }))
    await other.lifecycle('init')
    await other.lifecycle('activate')
    expect(await other.call(invocation())).toBe('false')
  })

  it('refuse questions after init, and withdraw the open one', async () => {
    let signal: AbortSignal | undefined
    const interact: CompartmentServices['interact'] = (_callId, _request, given) => {
      signal = given
      return new Promise((_resolve, reject) => { given.addEventListener('abort', () => reject(given.reason as Error)) })
    }
    const source = `
      let kept
      export default {
        async init(context) {
          kept = context.interact
          kept.ask('Still there?').catch(() => {})
          // An invalid question is refused at once, after the one before it has arrived.
          await kept.ask(0).catch(() => {})
        },
        tools: { run: { execute: () => kept.ask('And now?') } },
      }`
    const session = await newSandbox().open(await requestIn({ placement, source, tools, services: { interact } }))
    await session.lifecycle('init')
    expect(signal?.aborted).toBe(true)
    expect(await refusal(session.call(invocation())))
      .toMatchObject({ message: expect.stringContaining('outside a tool call') })
  })
})
