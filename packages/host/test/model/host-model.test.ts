import { LIFECYCLE, type LifecycleState, type Outcome } from '@bulkhead/contract'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Session } from '../../src/index.ts'
import { flush, ManualClock } from '../twin/clock.ts'
import { createWorld, verdictOf, type ExtensionSketch, type World } from '../twin/world.ts'
import { KINDS, Model, type Kind } from './model.ts'

type Step =
  | { readonly do: 'call' | 'begin' | 'crash' | 'remove' | 'disable'; readonly kind: Kind }
  | { readonly do: 'edit'; readonly kind: Kind; readonly startFails: boolean; readonly takenIn: boolean }
  | { readonly do: 'finish' | 'beginTurn' | 'endTurn' | 'reload' | 'switch' | 'close' }
  | { readonly do: 'wait'; readonly ms: number }

const kind = fc.constantFrom('plain', 'plain', ...KINDS)
const often = (value: boolean) => fc.constantFrom(value, value, value, !value)
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 8, arbitrary: fc.record({ do: fc.constant('call' as const), kind }) },
  // Of what stands alone, a call under way holds its successor up: those are for a test of their own.
  { weight: 3, arbitrary: fc.record({ do: fc.constant('begin' as const), kind: fc.constantFrom('plain', 'never', 'in-turn') }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constantFrom('crash', 'remove', 'disable'), kind }) },
  { weight: 6, arbitrary: fc.record({ do: fc.constant('edit' as const), kind, startFails: often(false), takenIn: often(true) }) },
  { weight: 6, arbitrary: fc.record({ do: fc.constantFrom('finish', 'beginTurn', 'endTurn', 'reload', 'reload') }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('switch', 'close') }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('wait' as const), ms: fc.constantFrom(500, 5_000, 60_000, 200_000) }) },
)

/** The host under test, and every call that was ever made to it. */
class Subject {
  readonly clock = new ManualClock()
  readonly world: World
  readonly calls = new Map<number, { outcome: Outcome | undefined }>()
  readonly #model: Model
  #gate = Promise.withResolvers<void>()
  #session!: Session

  constructor(model: Model) {
    this.#model = model
    this.world = createWorld({ clock: this.clock, drainMs: 100, extensions: this.#sketches() })
  }

  async open(): Promise<void> {
    this.#session = await this.world.host.openSession({ mode: 'yolo' })
  }

  begin(name: Kind, hang: boolean): number {
    const id = this.calls.size
    const entry: { outcome: Outcome | undefined } = { outcome: undefined }
    this.calls.set(id, entry)
    void this.#session.call({ id: `c${id}`, name, arguments: { hang } }).then((outcome) => { entry.outcome = outcome })
    return id
  }

  verdict(id: number): string | undefined {
    const outcome = this.calls.get(id)?.outcome
    if (!outcome) return undefined
    return outcome.type === 'output' ? String(outcome.data) : verdictOf(outcome)
  }

  letGo(): void {
    this.#gate.resolve()
    this.#gate = Promise.withResolvers<void>()
  }

  beginTurn(): void {
    this.#session.beginTurn()
  }

  async endTurn(): Promise<void> {
    // It is over when its calls are.
    this.letGo()
    await this.#session.endTurn()
    await this.clock.advance(0)
  }

  find(): void {
    const off = KINDS.filter((id) => !this.#model.disk[id].isEnabled)
    const extensions = Object.fromEntries(off.map((id) => [id, { enabled: false }]))
    this.world.find({ extensions: this.#sketches(), config: { extensions } })
  }

  async switch(): Promise<void> {
    const old = this.#session
    const switched = await this.world.host.switchWorkspace({
      workspace: '/elsewhere', sandbox: this.world.sandbox, report: this.world.find({}), source: { load: async () => this.world.find({}) },
    })
    expect(switched.sessionsLeft).toBe(1)
    await old.close()
    await this.clock.advance(1_000)
    await switched.unloaded
    await this.open()
  }

  #sketches(): readonly ExtensionSketch[] {
    return KINDS.filter((id) => this.#model.disk[id].isThere).map((id) => {
      const { version, startFails } = this.#model.disk[id]
      return {
        id,
        version: `${version}.0.0`,
        ...(id === 'alone' ? { loadedCardinality: 'one' } : {}),
        ...(id === 'never' || id === 'in-turn' ? { reloadBehavior: id } : {}),
        phases: { activate: () => { if (startFails) throw new Error('no') } },
        tools: {
          [id]: {
            requires: { net: { hosts: ['example.com'] } },
            execute: async ({ hang }) => {
              if (hang) await this.#gate.promise
              return `v${version}`
            },
          },
        },
      } satisfies ExtensionSketch
    })
  }
}

const next = (disk: Model['disk'], id: Kind): number => disk[id].version + 1

async function perform(model: Model, subject: Subject, taken: Step): Promise<void> {
  switch (taken.do) {
    case 'call': {
      const id = subject.begin(taken.kind, false)
      await flush()
      expect(subject.verdict(id)).toBe(model.call(taken.kind))
      break
    }
    case 'begin': {
      const id = subject.begin(taken.kind, true)
      await flush()
      expect(subject.verdict(id)).toBe(model.begin(taken.kind, id))
      break
    }
    case 'finish': {
      const expected = model.finish()
      subject.letGo()
      await flush()
      for (const [id, verdict] of expected) expect(subject.verdict(id)).toBe(verdict)
      break
    }
    case 'crash': {
      const lost = model.crash(taken.kind)
      for (const compartment of subject.world.sandbox.alive) if (compartment.id === taken.kind) compartment.crash()
      await flush()
      for (const id of lost) expect(subject.verdict(id)).toBe('CompartmentCrashed')
      break
    }
    case 'edit':
      model.disk[taken.kind] = { version: next(model.disk, taken.kind), startFails: taken.startFails, isThere: true, isEnabled: true }
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
      await subject.world.host.reload()
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
      for (const [id, verdict] of expected) expect(subject.verdict(id)).toBe(verdict)
      break
    }
    case 'switch':
      model.switch()
      await subject.switch()
      break
    case 'wait':
      // Calls have deadlines of their own, which the model does not know.
      await perform(model, subject, { do: 'finish' })
      model.now += taken.ms
      await subject.clock.advance(taken.ms)
      break
    case 'close':
      await close(model, subject)
  }
}

async function close(model: Model, subject: Subject): Promise<void> {
  const cancelled = model.close()
  const closing = subject.world.host.close()
  await subject.clock.advance(200)
  expect((await closing).faults).toEqual([])
  for (const id of cancelled) expect(subject.verdict(id)).toBe('HostClosed')
}

const isInTable = (from: LifecycleState, to: LifecycleState): boolean => Object.values(LIFECYCLE[from]).includes(to as never)

test('through any sequence of loading, calling, reloading, dying, disabling, switching and closing, a host does what the model says', async () => {
  const script = fc.array(step, { minLength: 1, maxLength: 40 })
  await fc.assert(fc.asyncProperty(script, async (steps) => {
    const model = new Model()
    const subject = new Subject(model)
    await subject.open()
    const ending = steps.findIndex(({ do: what }) => what === 'close')
    for (const taken of ending === -1 ? steps : steps.slice(0, ending)) {
      await perform(model, subject, taken)
      await flush()
      expect(subject.world.sandbox.alive).toHaveLength(model.running)
    }
    await close(model, subject)
    subject.letGo()
    await flush()
    expect([...subject.calls.values()].filter(({ outcome }) => outcome === undefined)).toEqual([])
    expect(subject.world.sandbox.alive).toEqual([])
    expect(subject.clock.pending).toBe(0)
    for (const { from, to } of subject.world.eventsOf('LifecycleStateChanged')) expect(isInTable(from, to)).toBe(true)
    expect(subject.world.eventsOf('SuppressedError')).toEqual([])
  }), { numRuns: 400 })
}, 120_000)
