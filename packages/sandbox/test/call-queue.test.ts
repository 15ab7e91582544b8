import { CALL_LIMITS, type ToolInvocation } from '@bulkhead/contract'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { thoroughly } from '../../../scripts/thoroughly.ts'
import { CallQueue, type QueuedCall } from '../src/session/call-queue.ts'
import { invocation } from './fixture.ts'

class Call implements QueuedCall<Call> {
  at = -1
  lender: Call | undefined
  borrower: Call | undefined
  readonly name: string
  readonly invocation: ToolInvocation

  constructor(name: string, sessionId: string, parent?: Call, confinement?: string) {
    this.name = name
    this.invocation = invocation({}, { sessionId, parent: parent?.invocation, confinement })
  }
}

const queueFor = (most: number): { queue: CallQueue<Call>; admitted: string[] } => {
  const admitted: string[] = []
  return { queue: new CallQueue<Call>(most, ({ name }) => void admitted.push(name)), admitted }
}

const named = (names: readonly string[], session: string): Call[] => names.map((name) => new Call(name, session))

describe('the call queue of a compartment', () => {
  it('lets waiting sessions take turns, and keeps the order of arrival within a session', () => {
    const { queue, admitted } = queueFor(1)
    const greedy = named(['a1', 'a2', 'a3', 'a4', 'a5'], 'a')
    const modest = named(['b1', 'b2'], 'b')
    const late = named(['c1'], 'c')
    expect(queue.enter(greedy[0]!)).toBe('running')
    for (const call of [...greedy.slice(1), ...modest, ...late]) expect(queue.enter(call)).toBe('waiting')
    const all = [...greedy, ...modest, ...late]
    queue.leave(greedy[0]!)
    while (admitted.length < 7) queue.leave(all.find(({ name }) => name === admitted.at(-1))!)
    expect(admitted).toEqual(['a2', 'b1', 'c1', 'a3', 'b2', 'a4', 'a5'])
  })

  it('limits the waiting calls of each session separately', () => {
    const { queue } = queueFor(2)
    for (const call of named(['x', 'y'], 'a')) expect(queue.enter(call)).toBe('running')
    for (let count = 0; count < 2 * CALL_LIMITS.waitingPerSlot; count++) {
      expect(queue.enter(new Call(`${count}`, 'a'))).toBe('waiting')
    }
    expect(queue.enter(new Call('one too many', 'a'))).toBe('full')
    expect(queue.enter(new Call('another', 'b'))).toBe('waiting')
  })

  it('gives no slot to a call that no longer waits', () => {
    const { queue, admitted } = queueFor(1)
    const [first, second, third] = named(['1', '2', '3'], 'a')
    for (const call of [first!, second!, third!]) queue.enter(call)
    queue.leave(second!)
    queue.leave(first!)
    expect(admitted).toEqual(['3'])
    queue.leave(third!)
    expect(admitted).toEqual(['3'])
    expect(queue.enter(second!)).toBe('running')
  })

  it('lends the slot of a call to one nested call at a time', () => {
    const { queue, admitted } = queueFor(1)
    const outer = new Call('outer', 'a')
    const [unrelated] = named(['unrelated'], 'a')
    const inner = ['i1', 'i2', 'i3'].map((name) => new Call(name, 'a', outer))
    const deepest = new Call('deepest', 'a', inner[0])
    expect(queue.enter(outer)).toBe('running')
    expect(queue.enter(unrelated!)).toBe('waiting')
    expect(inner.map((call) => queue.enter(call))).toEqual(['running', 'waiting', 'waiting'])
    expect(queue.enter(deepest)).toBe('running')
    queue.leave(deepest)
    queue.leave(inner[0]!)
    queue.leave(inner[1]!)
    expect(admitted).toEqual(['i2', 'i3'])
    queue.leave(outer)
    expect(admitted).toEqual(['i2', 'i3'])
    queue.leave(inner[2]!)
    expect(admitted).toEqual(['i2', 'i3', 'unrelated'])
  })

  it('lends a slot to a nested call that was made through another compartment', () => {
    const { queue } = queueFor(1)
    const outer = new Call('outer', 'a')
    const elsewhere = new Call('elsewhere', 'a', outer)
    queue.enter(outer)
    expect(queue.enter(new Call('inner', 'a', elsewhere))).toBe('running')
  })

  describe('with different confinements', () => {
    const confined = (names: readonly string[], session: string, confinement: string): Call[] =>
      names.map((name) => new Call(name, session, undefined, confinement))

    it('runs calls of one at a time, and lets none overtake one that waits for that', () => {
      const { queue, admitted } = queueFor(3)
      const [a1, a2, a3] = confined(['a1', 'a2', 'a3'], 'a', 'wide')
      const [b1, b2] = confined(['b1', 'b2'], 'b', 'narrow')
      const [c1] = confined(['c1'], 'c', 'wide')
      const states = [a1, a2, b1, a3, c1, b2].map((call) => queue.enter(call!))
      expect(states).toEqual(['running', 'running', 'waiting', 'waiting', 'waiting', 'waiting'])
      queue.leave(a1!)
      expect(admitted).toEqual([])
      queue.leave(a2!)
      expect(admitted).toEqual(['b1', 'b2'])
      queue.leave(b1!)
      queue.leave(b2!)
      expect(admitted).toEqual(['b1', 'b2', 'a3', 'c1'])
    })

    it('goes on when the one that others wait behind is cancelled', () => {
      const { queue, admitted } = queueFor(2)
      const [a1, a2] = confined(['a1', 'a2'], 'a', 'wide')
      const [b1] = confined(['b1'], 'b', 'narrow')
      expect([a1, b1, a2].map((call) => queue.enter(call!))).toEqual(['running', 'waiting', 'waiting'])
      queue.leave(b1!)
      expect(admitted).toEqual(['a2'])
    })

    it('lends a slot to a nested call while another one waits', () => {
      const { queue, admitted } = queueFor(2)
      const outer = new Call('outer', 'a', undefined, 'wide')
      const inner = ['i1', 'i2'].map((name) => new Call(name, 'a', outer, 'wide'))
      const [other] = confined(['other'], 'b', 'narrow')
      expect([outer, other!, ...inner].map((call) => queue.enter(call))).toEqual([
        'running', 'waiting', 'running', 'waiting',
      ])
      for (const call of inner) queue.leave(call)
      expect(admitted).toEqual(['i2'])
      queue.leave(outer)
      expect(admitted).toEqual(['i2', 'other'])
    })

    it('runs them at once in a compartment of trusted code', () => {
      const queue = new CallQueue<Call>(2, () => undefined, true)
      expect(
        [...confined(['a'], 'a', 'wide'), ...confined(['b'], 'b', 'narrow')].map((call) => queue.enter(call)),
      ).toEqual(['running', 'running'])
    })
  })

  it('admits each call exactly once and never stalls, in any order of arrival and end', () => {
    const step = fc.record(
      { session: fc.constantFrom('a', 'b', 'c'), nests: fc.boolean(), pick: fc.nat(), leaves: fc.boolean() },
    )
    fc.assert(fc.property(fc.integer({ min: 1, max: 3 }), fc.array(step, { maxLength: 80 }), (most, steps) => {
      const running: Call[] = []
      const waiting = new Set<Call>()
      const queue = new CallQueue<Call>(most, (call) => {
        expect(waiting.delete(call)).toBe(true)
        running.push(call)
      })
      // A call ends when nothing nested in it runs or waits.
      const isBusy = (call: Call): boolean => [...running, ...waiting].some(
        (one) => one.invocation.parent === call.invocation,
      )
      const endOne = (pick: number): void => {
        const idle = running.filter((call) => !isBusy(call))
        expect(running.length === 0 || idle.length > 0).toBe(true)
        const ended = idle[pick % idle.length]
        if (ended === undefined) return
        running.splice(running.indexOf(ended), 1)
        queue.leave(ended)
      }
      for (const [index, { session, nests, pick, leaves }] of steps.entries()) {
        if (leaves) endOne(pick)
        else {
          const parent = nests ? running[pick % Math.max(1, running.length)] : undefined
          // A nested call belongs to the session of its caller. Two of the sessions have the same confinement.
          const of = parent?.invocation.sessionId ?? session
          const call = new Call(`${index}`, of, parent, of === 'b' ? 'narrow' : 'wide')
          const state = queue.enter(call)
          if (state === 'running') running.push(call)
          else if (state === 'waiting') waiting.add(call)
        }
        expect(running.filter(({ lender }) => lender === undefined).length).toBeLessThanOrEqual(most)
        expect(new Set(running.map(({ invocation: { confinement } }) => confinement)).size).toBeLessThanOrEqual(1)
      }
      while (running.length > 0) endOne(0)
      expect(waiting.size).toBe(0)
    }), { numRuns: thoroughly(60, 300) })
  })
})
