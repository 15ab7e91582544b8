import type { LifecycleState } from '@bulkhead/contract'
import { LIFECYCLE } from '@bulkhead/contract'
import fc from 'fast-check'
import { expect } from 'vitest'
import { KINDS, type Kind, type Model } from './model.ts'
import type { Subject } from './subject.ts'

export type Step =
  | { readonly do: 'call' | 'begin' | 'crash' | 'remove' | 'disable'; readonly kind: Kind }
  | { readonly do: 'edit'; readonly kind: Kind; readonly startFails: boolean; readonly takenIn: boolean }
  | { readonly do: 'finish' | 'beginTurn' | 'endTurn' | 'reload' | 'switch' | 'close' }
  | { readonly do: 'wait'; readonly ms: number }

const kind = fc.constantFrom('plain', 'plain', ...KINDS)
const often = (value: boolean) => fc.constantFrom(value, value, value, !value)
export const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 8, arbitrary: fc.record({ do: fc.constant('call' as const), kind }) },
  // A running call of a single-instance extension delays its successor. Another test covers that.
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('begin' as const), kind: fc.constantFrom('plain', 'never', 'in-turn') }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constantFrom('crash', 'remove', 'disable'), kind }) },
  {
    weight: 6,
    arbitrary: fc.record({ do: fc.constant('edit' as const), kind, startFails: often(false), takenIn: often(true) }),
  },
  { weight: 6, arbitrary: fc.record({ do: fc.constantFrom('finish', 'beginTurn', 'endTurn', 'reload', 'reload') }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('switch', 'close') }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('wait' as const), ms: fc.constantFrom(500, 5_000, 60_000, 200_000) }),
  },
)

const next = (disk: Model['disk'], id: Kind): number => disk[id].version + 1

async function perform(model: Model, subject: Subject, taken: Step): Promise<void> {
  switch (taken.do) {
    case 'call': {
      const id = subject.begin(taken.kind, false)
      const expected = model.call(taken.kind)
      await subject.eventually(() => expect(subject.verdict(id)).toBe(expected))
      break
    }
    case 'begin': {
      const id = subject.begin(taken.kind, true)
      const expected = model.begin(taken.kind, id)
      await subject.begun(id)
      await subject.eventually(() => expect(subject.verdict(id)).toBe(expected))
      break
    }
    case 'finish': {
      const expected = model.finish()
      subject.letGo()
      await subject.eventually(() => {
        for (const [id, verdict] of expected) expect(subject.verdict(id)).toBe(verdict)
      })
      break
    }
    case 'crash': {
      const lost = model.crash(taken.kind)
      await subject.crash(taken.kind)
      await subject.eventually(() => { for (const id of lost) expect(subject.verdict(id)).toBe('CompartmentCrashed') })
      break
    }
    case 'edit':
      model.disk[taken.kind] = {
        version: next(model.disk, taken.kind), startFails: taken.startFails, isThere: true, isEnabled: true,
      }
      subject.find()
      if (taken.takenIn) await perform(model, subject, { do: 'reload' })
      break
    case 'remove':
      model.disk[taken.kind].isThere = false
      subject.find()
      break
    case 'disable':
      model.disk[taken.kind].isEnabled = false
      subject.find()
      break
    case 'reload':
      model.reload()
      await subject.reload()
      break
    case 'beginTurn':
      if (model.isInTurn) break
      model.beginTurn()
      subject.beginTurn()
      break
    case 'endTurn': {
      if (!model.isInTurn) break
      const expected = model.finish()
      model.endTurn()
      await subject.endTurn()
      await subject.eventually(() => {
        for (const [id, verdict] of expected) expect(subject.verdict(id)).toBe(verdict)
      })
      break
    }
    case 'switch':
      model.switch()
      await subject.switch()
      break
    case 'wait':
      // The model does not know the deadlines of calls.
      await perform(model, subject, { do: 'finish' })
      model.now += taken.ms
      await subject.wait(taken.ms)
      break
    case 'close':
      await close(model, subject)
  }
}

async function close(model: Model, subject: Subject): Promise<void> {
  const cancelled = model.close()
  expect(await subject.close()).toEqual([])
  for (const id of cancelled) expect(subject.verdict(id)).toBe('HostClosed')
}

const isInTable = (from: LifecycleState, to: LifecycleState): boolean =>
  Object.values(LIFECYCLE[from]).includes(to as never)

/** After every step subject and model agree; in the end nothing is lost, left over or outside the table. */
export async function play(steps: readonly Step[], model: Model, subject: Subject): Promise<void> {
  await subject.open()
  const ending = steps.findIndex(({ do: what }) => what === 'close')
  for (const taken of ending === -1 ? steps : steps.slice(0, ending)) {
    await perform(model, subject, taken)
    await subject.eventually(() => expect([subject.alive, subject.starting]).toEqual([model.running, []]))
  }
  await close(model, subject)
  subject.letGo()
  await subject.eventually(() => expect([subject.unsettled, subject.pendingTimers]).toEqual([0, 0]))
  expect(subject.alive).toBe(0)
  for (const { from, to } of subject.changes) expect(isInTable(from, to)).toBe(true)
  expect(subject.suppressed).toEqual([])
}
