import type { Store } from '@bulkhead/contract'
import type { CapturedCall, Frame } from '@bulkhead/inspector/protocol'
import { asJson, isJsonObject, type Json } from '@bulkhead/kit/json'
import { visibleText } from '@bulkhead/kit/text'
import {
  callKey, clearCaptured, framesKey, orderKey, ordersIn, RENEW_MS, SERVERS, serversKey, type CaptureOrder,
} from './capture-records.ts'

/** How often messages of servers are read while someone watches. */
const READ_MS = 1_000

/** Capture by the other hosts on the store, for one inspector. A store that fails ends no capture of the own host. */
export class CaptureElsewhere {
  readonly #store: Store
  readonly #id: string
  readonly #onFault: (error: unknown) => void
  readonly #watched = new Map<string, Set<(frame: Frame) => void>>()
  /** The last message that was read, by host and server. */
  readonly #read = new Map<string, number>()
  #timers: readonly NodeJS.Timeout[] = []
  #step: Promise<void> = Promise.resolve()

  /** `id`: of the own host, whose messages are not read. */
  constructor(store: Store, id: string, onFault: (error: unknown) => void) {
    this.#store = store
    this.#id = id
    this.#onFault = onFault
  }

  get isOn(): boolean {
    return this.#timers.length > 0
  }

  /** Other hosts capture within two seconds, until `end`. */
  begin(): void {
    this.#renew()
    this.#timers = [
      setInterval(() => this.#renew(), RENEW_MS).unref(), setInterval(() => this.#later(() => this.#readFrames()), READ_MS).unref(),
    ]
  }

  /** Removes what was captured. Resolves when that is done. Idempotent; never rejects. */
  end(): Promise<void> {
    if (!this.isOn) return this.#step
    for (const timer of this.#timers) clearInterval(timer)
    this.#timers = []
    this.#read.clear()
    this.#later(async () => {
      await this.#store.remove('capture', orderKey(this.#id))
      // Hosts remove their part when they see that nothing is ordered. Those that are gone do not.
      if ((await ordersIn(this.#store, this.#id)).length === 0) await clearCaptured(this.#store)
    })
    return this.#step
  }

  /** Messages of a server of this name in other processes, while capture is on. */
  watch(server: string, listener: (frame: Frame) => void): () => void {
    const listeners = this.#watched.getOrInsertComputed(server, () => new Set())
    listeners.add(listener)
    if (listeners.size === 1 && this.isOn) this.#renew()
    return () => {
      listeners.delete(listener)
      if (listeners.size > 0) return
      this.#watched.delete(server)
      if (this.isOn) this.#renew()
    }
  }

  /** The MCP servers of other processes, while capture is on. Rejects with StoreUnavailable. */
  async servers(): Promise<readonly string[]> {
    const found = this.isOn ? await this.#store.list('capture', SERVERS) : []
    const names = found.flatMap(({ key, value }) => key === serversKey(this.#id) || !Array.isArray(value) ? [] : value as readonly Json[])
    return [...new Set(names.filter((name) => typeof name === 'string'))]
  }

  /** Rejects with StoreUnavailable. */
  async call(session: string, call: string): Promise<CapturedCall | undefined> {
    const found = this.isOn ? await this.#store.read('capture', callKey(session, call)) : undefined
    if (!isJsonObject(found) || typeof found['arguments'] !== 'string') return undefined
    const { arguments: args, result, cut } = found
    return { arguments: args, ...(typeof result === 'string' && { result }), cut: cut === true }
  }

  #renew(): void {
    const order: CaptureOrder = { at: Date.now(), servers: [...this.#watched.keys()] }
    this.#later(() => this.#store.write('capture', orderKey(this.#id), asJson(order)))
  }

  /** One after the other: an order must not follow its end. */
  #later(step: () => Promise<void>): void {
    this.#step = this.#step.then(step).catch(this.#onFault)
  }

  async #readFrames(): Promise<void> {
    for (const [server, listeners] of this.#watched) {
      const prefix = framesKey(server, '')
      for (const { key, value } of await this.#store.list('capture', prefix)) {
        const host = key.slice(prefix.length)
        if (host === this.#id || !Array.isArray(value)) continue
        const last = this.#read.get(key) ?? 0
        const fresh = (value as readonly Json[]).flatMap((frame) => frameOf(frame, server, host) ?? []).filter(({ seq }) => seq > last)
        this.#read.set(key, fresh.at(-1)?.seq ?? last)
        for (const frame of fresh) for (const listener of listeners) listener(frame)
      }
    }
  }
}

/** undefined for a record of an unknown form. */
function frameOf(frame: Json, server: string, host: string): Frame | undefined {
  if (!isJsonObject(frame)) return undefined
  const { seq, at, direction, text, bytes, cut } = frame
  if (typeof seq !== 'number' || typeof at !== 'number' || typeof text !== 'string' || typeof bytes !== 'number') return undefined
  return {
    seq, at, text: visibleText(text), bytes, server, host: visibleText(host), direction: direction === 'in' ? 'in' : 'out', cut: cut === true,
  }
}
