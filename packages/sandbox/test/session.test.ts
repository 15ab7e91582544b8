import { setImmediate } from 'node:timers/promises'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import type { HullExit } from '../src/process/hull.ts'
import { KINDS } from '../src/wire/message.ts'
import { codeOf, invocation, refusal, requestOf, toolOf } from './fixture.ts'
import { ScriptedPeer } from './scripted-peer.ts'

const request = (limits: Parameters<typeof requestOf>[0]['limits'] = {}): ReturnType<typeof requestOf> =>
  requestOf({ placement: 'process', source: '', limits: { graceMs: 20, phaseMs: 50, ...limits } })

describe('when a compartment ends, every pending request gets the reason', () => {
  it.each<readonly [HullExit, string]>([
    [{ kind: 'memory', limit: 'heapMb', text: 'too much' }, 'CompartmentOutOfHeap'],
    [{ kind: 'memory', limit: 'memoryMb', text: 'too much' }, 'CompartmentOutOfMemory'],
    [{ kind: 'crashed', text: 'fell over' }, 'CompartmentCrashed'],
    [{ kind: 'killed' }, 'CompartmentCrashed'],
  ])('the exit %o gives its own reason', async (exit, code) => {
    const peer = new ScriptedPeer()
    const session = await peer.session(request())
    const { signal } = new AbortController()
    const asked = [
      session.call(invocation()),
      session.call(invocation()),
      session.lifecycle('init'),
      session.deriveApprovalKey('run', {}, signal),
    ]
    await peer.next('deriveApprovalKey')
    peer.end(exit)
    expect(await Promise.all(asked.map(codeOf))).toEqual([code, code, code, code])
    expect(await session.ended).toMatchObject({ kind: 'failed', error: { code } })
    expect(session.inFlight).toBe(0)
  })

  it('the reason is complete when it only closes its channel and a busy machine reports its end later', async () => {
    const peer = new ScriptedPeer()
    const session = await peer.session(request())
    const answer = codeOf(session.call(invocation()))
    await peer.next('execute')
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(() => {
      vi.useRealTimers()
    })
    peer.hangUp()
    while (vi.getTimerCount() === 0) await setImmediate()
    vi.advanceTimersByTime(9_000)
    expect(peer.killed).toBe(false)
    vi.advanceTimersByTime(2_000)
    expect(await answer).toBe('CompartmentCrashed')
    expect(peer.killed).toBe(true)
  })
})

describe('a cancelled or late request', () => {
  it('a cancelled call that runs longer than graceMs ends the compartment', async () => {
    const peer = new ScriptedPeer()
    const session = await peer.session(request())
    const controller = new AbortController()
    const [cancelled, bystander] = [
      session.call(invocation({}, { signal: controller.signal })),
      session.call(invocation()),
    ].map(codeOf)
    controller.abort()
    expect(await cancelled).toBe('ToolCancelled')
    expect(await bystander).toBe('CompartmentKilled')
    expect(peer.killed).toBe(true)
  })

  it('`quiet` is pending while a cancelled call still runs', async () => {
    const peer = new ScriptedPeer()
    const session = await peer.session(request({ graceMs: 10_000 }))
    const controller = new AbortController()
    const cancelled = codeOf(session.call(invocation({}, { signal: controller.signal })))
    expect(session.quiet).toBeUndefined()
    controller.abort()
    const { quiet } = session
    expect(quiet).toBeInstanceOf(Promise)
    expect(await cancelled).toBe('ToolCancelled')
    peer.reply((await peer.next('execute')).id, 'late')
    await quiet
    expect(session.quiet).toBeUndefined()
  })

  it('a reply after the call was cancelled is ignored', async () => {
    const peer = new ScriptedPeer()
    const session = await peer.session(request({ graceMs: 10_000 }))
    for (const kind of [KINDS.call.value, KINDS.call.failure]) {
      const controller = new AbortController()
      const answer = codeOf(session.call(invocation({}, { signal: controller.signal })))
      peer.send([kind, (await peer.next('execute')).id, { name: 'E', message: 'm' }])
      controller.abort()
      expect(await answer).toBe('ToolCancelled')
    }
    await session.quiet
    expect(session.inFlight).toBe(0)
    expect(peer.killed).toBe(false)
  })

  it('a call with an aborted signal is not sent', async () => {
    const peer = new ScriptedPeer()
    const session = await peer.session(request())
    expect(await codeOf(session.call(invocation({}, { signal: AbortSignal.abort() })))).toBe('ToolCancelled')
    expect(peer.received).toEqual([])
  })

  it('a phase that takes too long ends the compartment', async () => {
    const peer = new ScriptedPeer()
    const session = await peer.session(request())
    await expect(session.lifecycle('init')).rejects.toMatchObject({
      code: 'LifecycleTimeout', message: expect.stringMatching(/ended\. Do less in the phase, or raise phaseMs\.$/),
    })
    expect(peer.killed).toBe(true)
  })
})

describe('replies', () => {
  it('that are malformed replies to load are violations', async () => {
    const replies = [
      null, [], {}, { tools: [], phases: 1 }, { tools: [1], phases: [] }, { tools: [{ name: 1 }], phases: [] },
    ]
    for (const reply of replies) {
      const peer = new ScriptedPeer()
      const opening = codeOf(peer.open(request()))
      peer.reply((await peer.next('load')).id, reply)
      expect(await opening, JSON.stringify(reply)).toBe('BoundaryViolation')
      expect(peer.killed).toBe(true)
    }
  })

  it('that claim an error code of the host do not get it', async () => {
    const peer = new ScriptedPeer()
    const session = await peer.session(request())
    const thrown = async (error: object): Promise<unknown> => {
      const answer = refusal(session.call(invocation()))
      const { id } = await peer.next('execute')
      peer.send([KINDS.call.failure, id, error])
      return answer
    }
    expect(await thrown({ name: 'E', message: 'm', code: 'HostClosed' })).toMatchObject({
      code: 'ToolExecutionFailed', message: 'm', data: { code: 'HostClosed' },
    })
    expect(await thrown({ name: 'E', message: 'm', code: 'toString' })).toMatchObject({ code: 'ToolExecutionFailed' })
    expect(
      await thrown({ name: 'E', message: 'm', code: 'NotFound', data: [1], cause: { name: 'C', message: 'c' } }),
    ).toMatchObject({ code: 'NotFound', data: [1] })
  })

  it('to a first attempt of a call do not settle its second attempt', async () => {
    const peer = new ScriptedPeer()
    const session = await peer.session(
      requestOf({ placement: 'process', source: '', limits: { graceMs: 10_000 }, tools: [toolOf('run')] }),
    )
    const controller = new AbortController()
    const first = codeOf(session.call(invocation({}, { callId: 'same', signal: controller.signal })))
    const firstId = (await peer.next('execute')).id
    controller.abort()
    expect(await first).toBe('ToolCancelled')
    const second = session.call(invocation({}, { callId: 'same' }))
    const secondId = (await peer.next('execute')).id
    peer.reply(firstId, 'old')
    peer.reply(secondId, 'new')
    expect(await second).toBe('new')
  })
})
