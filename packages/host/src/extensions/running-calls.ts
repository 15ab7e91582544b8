import { Roster } from '../model/waiting/roster.ts'
import type { RunningCall } from '../calls/running-call.ts'

/** Ids are counted by where their last characters fall. Most fall where nobody else is, and then nobody has them. */
const BUCKETS = 256

/** The calls one extension is busy with, by the id its compartment knows them under, from the one that has run for the longest. */
export class RunningCalls {
  /** A list: to find each by a text in a Map would cost every call more than to look through it now and then. */
  readonly #calls = new Roster<RunningCall>()
  readonly #inBucket = new Uint16Array(BUCKETS)
  #idle: PromiseWithResolvers<void> | undefined
  #repeats = 0

  /**
   * Returns the id to run under: the model's own where it is free. Two sessions may use one id at once, and a second
   * attempt must not be taken for the first that has not ended yet.
   */
  enter(running: RunningCall, { id: wanted, attempt }: { readonly id: string; readonly attempt: number }): string {
    let id = attempt === 1 ? wanted : this.#anotherId(wanted)
    while (this.get(id)) id = this.#anotherId(wanted)
    running.place = this.#calls.enter(running)
    this.#inBucket[bucketOf(id)]!++
    return id
  }

  /** Idempotent. */
  leave(running: RunningCall): void {
    if (running.place === undefined || !this.#calls.leave(running.place)) return
    this.#inBucket[bucketOf(running.callId)]!--
    if (this.#calls.size > 0) return
    this.#idle?.resolve()
    this.#idle = undefined
  }

  get(id: string): RunningCall | undefined {
    return this.#inBucket[bucketOf(id)] === 0 ? undefined : this.#calls.members().find((call) => call.callId === id)
  }

  /** The one that has run for the longest: a compartment that woke for it may ask its person. */
  any(): RunningCall | undefined {
    return this.#calls.first
  }

  get size(): number {
    return this.#calls.size
  }

  /** Resolves when nothing runs, at once if nothing does. */
  whenIdle(): Promise<void> {
    if (this.#calls.size === 0) return Promise.resolve()
    this.#idle ??= Promise.withResolvers<void>()
    return this.#idle.promise
  }

  /** Never longer than an id may be. */
  #anotherId(wanted: string): string {
    return `${wanted.slice(0, 100)}#${++this.#repeats}`
  }
}

function bucketOf(id: string): number {
  const last = id.length - 1
  return (id.charCodeAt(last) + 13 * id.charCodeAt(last - 1) + 101 * id.charCodeAt(last - 2)) & (BUCKETS - 1)
}
