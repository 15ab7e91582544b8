/** The reload behaviour of an extension, as in its manifest. */
export type Kind = 'plain' | 'alone' | 'never' | 'in-turn'
export const KINDS = ['plain', 'alone', 'never', 'in-turn'] as const satisfies readonly Kind[]

/** One version of an extension. Its kind is its id and the name of its only tool. */
export interface OnDisk {
  version: number
  startFails: boolean
  isThere: boolean
  isEnabled: boolean
}

class Generation {
  readonly version: number
  readonly #startFails: boolean
  readonly #deaths: number[] = []
  wasStarted = false
  isActive = false

  constructor({ version, startFails }: Pick<OnDisk, 'version' | 'startFails'>) {
    this.version = version
    this.#startFails = startFails
  }

  get startFails(): boolean {
    return this.#startFails
  }

  start(now: number): string | undefined {
    if (this.isActive) return undefined
    const recent = this.#deaths.filter((at) => now - at < 120_000)
    const rest = [0, 0, 0, 0, 1_000, 5_000, 15_000, 60_000][Math.min(recent.length, 7)]!
    if (recent.length > 0 && now < recent.at(-1)! + rest) return 'CompartmentQuarantined'
    this.wasStarted = true
    if (this.#startFails) {
      this.#deaths.push(now)
      return 'LifecycleFailure'
    }
    this.isActive = true
    return undefined
  }

  die(now: number): void {
    if (!this.isActive) return
    this.isActive = false
    this.#deaths.push(now)
  }
}

/** A call that has started and waits to be released. */
interface OpenCall {
  readonly kind: Kind
  readonly generation: Generation
}

/** The expected behaviour of a host, simplified: everything happens at once and nothing overlaps. */
export class Model {
  readonly disk: Record<Kind, OnDisk>
  now = 0
  #served = new Map<Kind, Generation>()
  #turn: Map<Kind, Generation> | undefined
  #open = new Map<number, OpenCall>()
  #isDeferred = false
  #isClosed = false

  constructor() {
    this.disk = Object.fromEntries(
      KINDS.map((kind) => [kind, { version: 1, startFails: false, isThere: true, isEnabled: true }]),
    ) as Record<Kind, OnDisk>
    this.#load()
  }

  /** The expected result of a call: the version that answers, or a code. */
  call(kind: Kind): string {
    if (this.#isClosed) return 'HostClosed'
    const generation = this.#find(kind)
    if (!generation) return 'ToolNotRegistered'
    return generation.start(this.now) ?? `v${generation.version}`
  }

  /** undefined: it runs until it is released. */
  begin(kind: Kind, id: number): string | undefined {
    const verdict = this.call(kind)
    if (!verdict.startsWith('v')) return verdict
    this.#open.set(id, { kind, generation: this.#find(kind)! })
    return undefined
  }

  /** The open calls, each with its expected result when it is released. */
  finish(): ReadonlyMap<number, string> {
    const outcomes = new Map(Array.from(this.#open, ([id, { generation }]) => [id, `v${generation.version}`]))
    this.#open.clear()
    return outcomes
  }

  /** Every compartment of the extension crashes. Returns the calls that end with it. */
  crash(kind: Kind): readonly number[] {
    for (const generation of this.#alive()) if (generation.kind === kind) generation.generation.die(this.now)
    const lost = [...this.#open].filter(([, call]) => call.kind === kind).map(([id]) => id)
    for (const id of lost) this.#open.delete(id)
    return lost
  }

  beginTurn(): void {
    this.#turn ??= new Map(this.#served)
  }

  endTurn(): void {
    this.#turn = undefined
    if (!this.#isDeferred) return
    this.#isDeferred = false
    this.reload()
  }

  get isInTurn(): boolean {
    return this.#turn !== undefined
  }

  reload(): void {
    for (const kind of KINDS) {
      const disk = this.disk[kind]
      const old = this.#served.get(kind)
      if (!disk.isThere || !disk.isEnabled) this.#served.delete(kind)
      else if (!old) this.#served.set(kind, new Generation(disk))
      else if (old.version !== disk.version) this.#replace(kind, old, new Generation(disk))
    }
  }

  /** Switches to another folder with the same content. */
  switch(): void {
    this.#turn = undefined
    this.#isDeferred = false
    this.#open.clear()
    this.#load()
  }

  close(): readonly number[] {
    const cancelled = [...this.#open.keys()]
    this.#isClosed = true
    this.#turn = undefined
    this.#open.clear()
    this.#served.clear()
    return cancelled
  }

  /** The expected number of compartments when nothing is pending. */
  get running(): number {
    return new Set(this.#alive().map(({ generation }) => generation).filter(({ isActive }) => isActive)).size
  }

  #load(): void {
    this.#served = new Map(KINDS.flatMap((kind) => {
      const disk = this.disk[kind]
      return disk.isThere && disk.isEnabled ? [[kind, new Generation(disk)] as const] : []
    }))
  }

  #find(kind: Kind): Generation | undefined {
    const known = this.#turn ? this.#turn.get(kind) : this.#served.get(kind)
    return known && kind === 'in-turn' ? this.#served.get(kind) : known
  }

  #replace(kind: Kind, old: Generation, next: Generation): void {
    if (!old.wasStarted) return void this.#served.set(kind, next)
    if (kind === 'never') return
    if (kind === 'alone') {
      if (this.#turn) {
        this.#isDeferred = true
        return
      }
      const fault = next.start(this.now)
      this.#served.set(kind, fault ? new Generation({ version: old.version, startFails: old.startFails }) : next)
      return
    }
    if (next.start(this.now) === undefined) this.#served.set(kind, next)
  }

  #alive(): readonly OpenCall[] {
    const served = [...this.#served].map(([kind, generation]) => ({ kind, generation }))
    // A turn does not keep an extension that it would not call.
    const known = [...(this.#turn ?? [])]
      .filter(([kind]) => kind !== 'in-turn')
      .map(([kind, generation]) => ({ kind, generation }))
    return [...served, ...known, ...this.#open.values()]
  }
}
