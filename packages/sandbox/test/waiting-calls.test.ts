import { BulkheadError, type CompartmentSession } from '@bulkhead/contract'
import { describe, expect, it } from 'vitest'
import { codeOf, invocation, refusal, requestOf } from './fixture.ts'
import { ScriptedPeer } from './scripted-peer.ts'

const opened = async (): Promise<{ peer: ScriptedPeer; session: CompartmentSession }> => {
  const peer = new ScriptedPeer()
  return { peer, session: await peer.session(
    requestOf({ placement: 'process', source: '', limits: { concurrentCalls: 1, graceMs: 10_000 } }),
  ) }
}

describe('a call that waits for a slot', () => {
  it('is sent when an earlier call has ended', async () => {
    const { peer, session } = await opened()
    const answers = [1, 2].map((n) => session.call(invocation({ n })))
    expect(session.inFlight).toBe(2)
    const first = await peer.next('execute')
    expect(peer.received).toEqual([])
    peer.reply(first.id, 'one')
    peer.reply((await peer.next('execute')).id, 'two')
    expect(await Promise.all(answers)).toEqual(['one', 'two'])
    expect(session.inFlight).toBe(0)
  })

  it('is not sent when it is cancelled, and neither is an abort', async () => {
    const { peer, session } = await opened()
    const before = session.call(invocation())
    const giveUp = new AbortController()
    const waiting = codeOf(session.call(invocation({}, { signal: giveUp.signal })))
    giveUp.abort(new BulkheadError('ExecutionTimeout', 'Its time is over.'))
    expect(await waiting).toBe('ExecutionTimeout')
    expect(session.quiet).toBeUndefined()
    expect(session.inFlight).toBe(1)
    peer.reply((await peer.next('execute')).id, 'done')
    expect(await before).toBe('done')
    expect(peer.received).toEqual([])
  })

  it('waits until a cancelled call has ended', async () => {
    const { peer, session } = await opened()
    const giveUp = new AbortController()
    const before = codeOf(session.call(invocation({}, { signal: giveUp.signal })))
    const waiting = session.call(invocation())
    giveUp.abort()
    expect(await before).toBe('ToolCancelled')
    const { id } = await peer.next('execute')
    await peer.next('abort')
    expect(peer.received).toEqual([])
    peer.reply(id, 'late')
    peer.reply((await peer.next('execute')).id, 'mine')
    expect(await waiting).toBe('mine')
  })

  it('is reported as not sent when the compartment ends, and the running call gets the reason', async () => {
    const { peer, session } = await opened()
    const [ran, waited] = [1, 2].map(() => refusal(session.call(invocation())))
    await peer.next('execute')
    peer.end({ kind: 'crashed', text: 'fell over' })
    expect((await ran!).code).toBe('CompartmentCrashed')
    expect(await waited).toMatchObject({ code: 'CompartmentGone', cause: { code: 'CompartmentCrashed' } })
    expect(peer.received).toEqual([])
    expect(session.inFlight).toBe(0)
  })

  it('is rejected with the reason of a close', async () => {
    const { session } = await opened()
    const asked = [1, 2].map(() => codeOf(session.call(invocation())))
    await session.close(new BulkheadError('HostClosed', 'bye'))
    expect(await Promise.all(asked)).toEqual(['HostClosed', 'HostClosed'])
  })
})

describe('a request after the end of a compartment', () => {
  it('is rejected as not sent, even before `ended` resolves', async () => {
    const { peer, session } = await opened()
    const { signal } = new AbortController()
    const answer = refusal(session.call(invocation()))
    await peer.next('execute')
    const atOnce = answer.then(() => Promise.all([
      codeOf(session.call(invocation())), codeOf(session.deriveApprovalKey('run', {}, signal)),
    ]))
    peer.end({ kind: 'crashed', text: 'fell over' })
    expect((await answer).code).toBe('CompartmentCrashed')
    expect(await atOnce).toEqual(['CompartmentGone', 'CompartmentGone'])
    await session.ended
    expect(await codeOf(session.call(invocation()))).toBe('CompartmentGone')
  })

  it('is rejected as not sent when the channel is closed and the compartment has not ended yet', async () => {
    const { peer, session } = await opened()
    const running = codeOf(session.call(invocation()))
    await peer.next('execute')
    peer.hangUp()
    const askAndGiveUp = (): Promise<string> => {
      const giveUp = new AbortController()
      const code = codeOf(session.call(invocation({}, { signal: giveUp.signal })))
      giveUp.abort()
      return code
    }
    await expect.poll(askAndGiveUp).toBe('CompartmentGone')
    expect(peer.killed).toBe(false)
    peer.end({ kind: 'crashed', text: 'fell over' })
    expect(await running).toBe('CompartmentCrashed')
  })
})
