import { BulkheadError, type CallSteps, type Store } from '@bulkhead/contract'
import { isJsonObject, type Json } from '@bulkhead/kit/json'

/** Where the steps of a call are kept. */
export interface StepsPlace {
  /** That of the outcome of the call. */
  readonly place: string
  /** Of its tool and arguments: another call does not get the results. */
  readonly digest: string
}

export interface StepSources extends StepsPlace {
  /** undefined: the results are kept as long as the call runs. */
  readonly store: Store | undefined
  readonly now: () => number
}

const MAX_BYTES = 1024 ** 2
const MAX_STEPS = 1_000

export const stepsKey = (place: string): string => `${place}/steps`

/** The steps of one call, over all its attempts. */
export class KeptSteps implements CallSteps {
  readonly #sources: StepSources
  #kept: Map<string, Json> | undefined
  #isStored = false
  #open: string | undefined
  /** Names that the present attempt has used. */
  readonly #used = new Set<string>()

  constructor(sources: StepSources) {
    this.#sources = sources
  }

  /** The step that runs. */
  get open(): string | undefined {
    return this.#open
  }

  isKept(name: string): boolean {
    return this.#kept?.has(name) === true
  }

  /** Another attempt begins at the first step. */
  restart(): void {
    this.#open = undefined
    this.#used.clear()
  }

  async begin(name: string): Promise<{ readonly result: Json } | undefined> {
    if (name === '') throw invalid(name, 'it needs a name')
    if (this.#open !== undefined) throw invalid(name, `the step "${this.#open}" runs. Steps run one after the other`)
    if (this.#used.has(name)) throw invalid(name, 'the call has had a step of that name. Give each its own')
    if (this.#used.size === MAX_STEPS) throw invalid(name, `a call has at most ${MAX_STEPS} steps`)
    this.#used.add(name)
    // Before it is awaited, so that two cannot run at once.
    this.#open = name
    try {
      const kept = this.#kept ??= await this.#load()
      if (!kept.has(name)) return undefined
      this.#open = undefined
      return { result: kept.get(name)! }
    } catch (thrown) {
      this.#open = undefined
      throw thrown
    }
  }

  async end(name: string, result?: Json): Promise<void> {
    if (this.#open !== name) throw invalid(name, 'it does not run')
    try {
      if (result !== undefined) await this.#keep(name, result)
    } finally {
      this.#open = undefined
    }
  }

  /** Rejects with StoreUnavailable. */
  async forget(): Promise<void> {
    if (this.#isStored) await this.#sources.store?.remove('outcome', stepsKey(this.#sources.place))
  }

  async #load(): Promise<Map<string, Json>> {
    const { store, place, digest } = this.#sources
    const steps = store && await readSteps(store, place, digest)
    this.#isStored = steps !== undefined
    return steps ?? new Map()
  }

  async #keep(name: string, result: Json): Promise<void> {
    const { store, place, digest, now } = this.#sources
    const next = new Map([...this.#kept!, [name, result]])
    const steps = Object.fromEntries(next)
    const bytes = Buffer.byteLength(JSON.stringify(steps))
    if (bytes > MAX_BYTES) {
      const why = `The results of the steps of the call would have ${bytes} bytes, and at most ${MAX_BYTES} are kept.`
      throw new BulkheadError('OutputTooLarge', `${why} Return less from "${name}".`)
    }
    if (store) {
      await store.write('outcome', stepsKey(place), { digest, at: now(), steps })
      this.#isStored = true
    }
    this.#kept = next
  }
}

/** undefined if there are none, or those of another call. Rejects with StoreUnavailable. */
export async function readSteps(store: Store, place: string, digest?: string): Promise<Map<string, Json> | undefined> {
  const record = await store.read('outcome', stepsKey(place))
  if (!isJsonObject(record) || !isJsonObject(record['steps'])) return undefined
  return digest === undefined || record['digest'] === digest ? new Map(Object.entries(record['steps'])) : undefined
}

const invalid = (name: string, why: string): BulkheadError =>
  new BulkheadError('InputInvalid', `The step "${name}" cannot run: ${why}.`)
