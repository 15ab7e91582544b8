import type { FrameWatch, ServerFrame } from '@bulkhead/bridges/mcp'
import type { Store } from '@bulkhead/contract'
import type { Host } from '@bulkhead/host'
import { capturedCall } from '@bulkhead/inspector'
import { asJson, type Json } from '@bulkhead/kit/json'
import { callKey, framesKey, serversKey } from './capture-records.ts'
import { onOutcome } from './on-outcome.ts'

export interface CaptureSources {
  readonly store: Pick<Store, 'write' | 'remove'>
  /** Of this host on the store. */
  readonly id: string
  readonly inside: Pick<Host['inside'], 'addHooks' | 'redact'>
  readonly servers: () => readonly string[]
  readonly watchFrames: (server: string, listener: (frame: ServerFrame) => void) => FrameWatch | undefined
  /** Must not throw. */
  readonly onFault: (error: unknown) => void
}

/** Of one host, and of each of its servers. */
const MOST_CALLS = 50
const MOST_FRAMES = 50
const MOST_FRAME_CHARS = 256 * 1024
/** What comes in this time is written together. */
const GATHERING_MS = 300

/** Arguments and results of the last calls of this host, and the last messages of servers, in the store until `end`. */
export class CapturedCalls {
  readonly #sources: CaptureSources
  readonly #stopHooks: () => void
  readonly #calls = new Set<string>()
  readonly #servers = new Map<string, Watched>()
  /** The servers that are named in the store. */
  #has: readonly string[] = []
  /** What is to be written. undefined: to be removed. */
  #waiting = new Map<string, Json | undefined>()
  #timer: NodeJS.Timeout | undefined
  #writing: Promise<void> = Promise.resolve()

  constructor(sources: CaptureSources) {
    this.#sources = sources
    this.#stopHooks = onOutcome(sources.inside, ({ session, call, arguments: args, result }) =>
      this.#keep(callKey(session, call), asJson(capturedCall(args, result))))
  }

  /** The messages of these servers and no others. */
  watch(names: ReadonlySet<string>): void {
    const has = this.#sources.servers()
    if (has.join('\n') !== this.#has.join('\n')) this.#change(serversKey(this.#sources.id), [...has])
    this.#has = has
    for (const [name, watched] of this.#servers) if (!names.has(name)) this.#unwatch(name, watched)
    for (const name of names) {
      if (this.#servers.has(name)) continue
      const frames: ServerFrame[] = []
      const watch = this.#sources.watchFrames(name, (frame) => this.#add(name, frames, frame))
      if (watch === undefined) continue
      this.#servers.set(name, { frames, watch })
      for (const frame of watch.first()) this.#add(name, frames, frame)
    }
  }

  /** Nothing of it is left in the store. Rejects with StoreUnavailable. */
  async end(): Promise<void> {
    this.#stopHooks()
    for (const [name, watched] of this.#servers) this.#unwatch(name, watched)
    for (const key of [...this.#calls, serversKey(this.#sources.id)]) this.#waiting.set(key, undefined)
    clearTimeout(this.#timer)
    await this.#writing
    await this.#write()
  }

  #keep(key: string, value: Json): void {
    this.#calls.delete(key)
    this.#calls.add(key)
    this.#change(key, value)
    const [oldest] = this.#calls
    if (this.#calls.size <= MOST_CALLS || oldest === undefined) return
    this.#calls.delete(oldest)
    this.#change(oldest, undefined)
  }

  #add(server: string, frames: ServerFrame[], frame: ServerFrame): void {
    frames.push(frame)
    let chars = frames.reduce((sum, { text }) => sum + text.length, 0)
    while (frames.length > MOST_FRAMES || chars > MOST_FRAME_CHARS) chars -= frames.shift()!.text.length
    this.#change(framesKey(server, this.#sources.id), asJson(frames))
  }

  #unwatch(name: string, { watch }: Watched): void {
    watch.stop()
    this.#servers.delete(name)
    this.#change(framesKey(name, this.#sources.id), undefined)
  }

  #change(key: string, value: Json | undefined): void {
    this.#waiting.set(key, value)
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined
      this.#writing = this.#writing.then(() => this.#write()).catch(this.#sources.onFault)
    }, GATHERING_MS).unref()
  }

  async #write(): Promise<void> {
    const { store } = this.#sources
    const waiting = this.#waiting
    this.#waiting = new Map()
    for (const [key, value] of waiting) {
      if (value === undefined) await store.remove('capture', key)
      else await store.write('capture', key, value)
    }
  }
}

interface Watched {
  readonly frames: ServerFrame[]
  readonly watch: FrameWatch
}
