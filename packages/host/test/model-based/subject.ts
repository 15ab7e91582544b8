import type { BulkheadError, EventOf, LoadReport, Outcome, Sandbox, StoreCollection } from '@bulkhead/contract'
import type { Json } from '@bulkhead/kit/json'
import type { Session } from '../../src/index.ts'
import { expect } from 'vitest'
import { flush, ManualClock } from '../twin/clock.ts'
import { MemoryStore } from '../twin/store.ts'
import { createWorld, verdictOf, type ExtensionSketch, type World } from '../twin/world.ts'
import { KINDS, type Kind, type Model } from './model.ts'

/** Where the extensions of a subject run. */
export interface Compartments {
  readonly sandbox: Sandbox
  readonly alive: number
  /** Whether compartments end at once. If not, a jump of the clock makes their end late. */
  readonly isInstant: boolean
  /** Every compartment of the extension crashes with CompartmentCrashed. */
  crash(id: string): Promise<void>
  /** Repeats the check until it passes, or throws its last error. */
  eventually(check: () => void): Promise<void>
  /** The code of one version. A tool that hangs reports progress, then reads its state, which takes long. */
  sketch(id: string, version: number, startFails: boolean): Pick<ExtensionSketch, 'phases' | 'readFiles' | 'tools'>
}

/** Reads of state wait while it is closed. */
class SlowStore extends MemoryStore {
  #gate = Promise.withResolvers<void>()
  #isOpen = false

  shut(): void {
    if (this.#isOpen) this.#gate = Promise.withResolvers<void>()
    this.#isOpen = false
  }

  open(): void {
    this.#isOpen = true
    this.#gate.resolve()
  }

  override async read(collection: StoreCollection, key: string): Promise<Json | undefined> {
    if (collection === 'state') await this.#gate.promise
    return super.read(collection, key)
  }
}

/** The host under test with a stopped clock, and every call that was made to it. */
export class Subject {
  readonly #clock = new ManualClock()
  readonly #model: Model
  readonly #compartments: Compartments
  readonly #world: World
  readonly #calls: { outcome: Outcome | undefined; readonly hangs: PromiseWithResolvers<void> }[] = []
  readonly #store = new SlowStore()
  #session!: Session

  constructor(model: Model, compartments: Compartments) {
    this.#model = model
    this.#compartments = compartments
    this.#world = createWorld({
      clock: this.#clock, drainMs: 100, extensions: this.#sketches(), sandbox: compartments.sandbox, store: this.#store,
    })
    this.#world.host.on((event) => {
      if (event.type === 'ToolInvocationProgress') this.#calls[Number(event.callId.slice(1))]!.hangs.resolve()
    })
  }

  async open(): Promise<void> {
    this.#session = await this.#world.host.openSession({ mode: 'yolo' })
  }

  begin(name: Kind, hang: boolean): number {
    const id = this.#calls.length
    if (hang) this.#store.shut()
    const call = { outcome: undefined as Outcome | undefined, hangs: Promise.withResolvers<void>() }
    this.#calls.push(call)
    void this.#session.call({ id: `c${id}`, name, arguments: { hang } }).then((outcome) => {
      call.outcome = outcome
      call.hangs.resolve()
    })
    return id
  }

  /** Resolves when the call hangs or has ended. */
  begun(id: number): Promise<void> {
    return this.#calls[id]!.hangs.promise
  }

  verdict(id: number): string | undefined {
    const outcome = this.#calls[id]?.outcome
    if (!outcome) return undefined
    return outcome.type === 'output' ? String(outcome.data) : verdictOf(outcome)
  }

  letGo(): void {
    this.#store.open()
  }

  beginTurn(): void {
    this.#session.beginTurn()
  }

  /** Ends the turn after its calls. Deferred reloads are done when this resolves. */
  async endTurn(): Promise<void> {
    this.letGo()
    await this.#session.endTurn()
    await flush()
    await this.#world.host.register([])
  }

  find(): LoadReport {
    const off = KINDS.filter((id) => !this.#model.disk[id].isEnabled)
    const extensions = Object.fromEntries(off.map((id) => [id, { enabled: false }]))
    return this.#world.find({ extensions: this.#sketches(), config: { extensions } })
  }

  async reload(): Promise<void> {
    await this.#world.host.reload()
  }

  async switch(): Promise<void> {
    const old = this.#session
    const { sandbox } = this.#compartments
    const switched = await this.#world.host.switchWorkspace({
      workspace: '/elsewhere', sandbox, report: this.find(), source: { load: async () => this.find() },
    })
    await old.close()
    await switched.unloaded
    await this.open()
  }

  crash(kind: Kind): Promise<void> {
    return this.#compartments.crash(kind)
  }

  wait(ms: number): Promise<void> {
    return this.#clock.advance(ms)
  }

  eventually(check: () => void): Promise<void> {
    return this.#compartments.eventually(check)
  }

  /** Resolves with the extensions that did not stop. */
  async close(): Promise<readonly { readonly error: BulkheadError }[]> {
    const closing = this.#world.host.close()
    // A real start ends in real time; calls that hang are cancelled at their deadline.
    if (!this.#compartments.isInstant) await this.eventually(() => expect(this.starting).toEqual([]))
    await this.#clock.advance(this.#compartments.isInstant ? 200 : 100)
    return (await closing).faults
  }

  /** A jump of the clock would make real compartments late. */
  get starting(): readonly string[] {
    const states = new Map(this.changes.map(({ extensionId, generation, to }) => [`${extensionId} ${generation}`, to]))
    return [...states].flatMap(([extension, state]) =>
      state === 'initialising' || state === 'loaded' || state === 'activating' ? [extension] : [],
    )
  }

  get alive(): number {
    return this.#compartments.alive
  }

  get unsettled(): number {
    return this.#calls.filter(({ outcome }) => outcome === undefined).length
  }

  get pendingTimers(): number {
    return this.#clock.pending
  }

  get changes(): readonly EventOf<'LifecycleStateChanged'>[] {
    return this.#world.eventsOf('LifecycleStateChanged')
  }

  get suppressed(): readonly EventOf<'SuppressedError'>[] {
    return this.#compartments.isInstant ? this.#world.eventsOf('SuppressedError') : []
  }

  #sketches(): readonly ExtensionSketch[] {
    return KINDS.filter((id) => this.#model.disk[id].isThere).map((id) => {
      const { version, startFails } = this.#model.disk[id]
      return {
        id,
        version: `${version}.0.0`,
        stateSlot: { slotVersion: '1', schema: {} },
        ...(id === 'alone' ? { loadedCardinality: 'one' } : {}),
        ...(id === 'never' || id === 'in-turn' ? { reloadBehavior: id } : {}),
        ...this.#compartments.sketch(id, version, startFails),
      } satisfies ExtensionSketch
    })
  }
}
