import type { BrokerMethod } from '@bulkhead/contract'
import type { Json } from '@bulkhead/kit/json'
import type { BrokerMethods } from '@bulkhead/broker'

/**
 * Methods whose answers may be long, or that wait for a disk, whose threads serve all compartments in turn. They wait for nobody
 * else. Those that search take longer, and do not hold up the others; nor do those that read hold up those that write.
 */
const LANES: readonly (readonly BrokerMethod[])[] = [
  ['fs.read', 'fs.list', 'fs.stat', 'state.read', 'session.read'],
  ['fs.glob', 'fs.find', 'fs.search'],
  ['fs.write', 'fs.edit', 'fs.remove'],
]
const AT_ONCE = 8
/** What a compartment may leave unread before it gets more. */
const UNREAD_BYTES = 8 * 1024 * 1024

type Read = (callId: unknown, ...args: readonly Json[]) => Promise<Json>

/**
 * The methods of a broker, a few of these at a time. A compartment may ask for a thousand at once, of eight megabytes each;
 * the host would hold all of them until they are read, and its disks would have no time for others. The rest wait for their
 * turn, in which they are judged.
 */
export class PacedReads {
  readonly methods: BrokerMethods
  readonly #lanes: readonly Lane[]

  constructor(methods: BrokerMethods, queuedBytes: () => number) {
    const paced = LANES.map((names) => ({ names, lane: new Lane(() => queuedBytes() <= UNREAD_BYTES) }))
    this.#lanes = paced.map(({ lane }) => lane)
    this.methods = Object.assign(Object.create(null) as object, methods, Object.fromEntries(paced.flatMap(({ names, lane }) =>
      names.map((name) => [name, lane.paced(methods[name])] as const)))) as BrokerMethods
  }

  /** To be called when what was left unread has been read. */
  goOn(): void {
    for (const lane of this.#lanes) lane.goOn()
  }
}

class Lane {
  readonly #mayGo: () => boolean
  readonly #waiting: (() => void)[] = []
  #free = AT_ONCE

  constructor(mayGo: () => boolean) {
    this.#mayGo = mayGo
  }

  goOn(): void {
    while (this.#waiting.length > 0 && this.#isOpen) this.#waiting.shift()!()
  }

  paced(read: Read): Read {
    return (callId, ...args) => {
      if (this.#waiting.length === 0 && this.#isOpen) return this.#begin(read, callId, args)
      return new Promise((resolve) => this.#waiting.push(() => resolve(this.#begin(read, callId, args))))
    }
  }

  get #isOpen(): boolean {
    return this.#free > 0 && this.#mayGo()
  }

  #begin(read: Read, callId: unknown, args: readonly Json[]): Promise<Json> {
    this.#free--
    const answer = read(callId, ...args)
    answer.then(this.#answered, this.#answered)
    return answer
  }

  /** Later: only then has the answer been written, and counts among what is unread. */
  readonly #answered = (): void => void setImmediate(this.#giveBack)

  readonly #giveBack = (): void => {
    this.#free++
    this.goOn()
  }
}
