import type { BrokerMethod, Json } from '@bulkhead/contract'
import type { BrokerMethods } from './broker/broker.ts'

/** Methods whose answers may be long, and wait for nobody. */
const READING: readonly BrokerMethod[] = [
  'fs.read', 'fs.list', 'fs.glob', 'fs.find', 'fs.search', 'state.read', 'session.read',
]
const AT_ONCE = 8
/** What a compartment may leave unread before it gets more. */
const UNREAD_BYTES = 8 * 1024 * 1024

type Read = (callId: unknown, ...args: readonly Json[]) => Promise<Json>

/**
 * The methods of a broker, a few long answers at a time. A compartment may ask for a thousand at once, of eight megabytes each;
 * the host would hold all of them until they are read. The rest wait for their turn, in which they are judged.
 */
export class PacedReads {
  readonly methods: BrokerMethods
  readonly #queuedBytes: () => number
  readonly #waiting: (() => void)[] = []
  #free = AT_ONCE

  constructor(methods: BrokerMethods, queuedBytes: () => number) {
    this.#queuedBytes = queuedBytes
    this.methods = Object.assign(Object.create(null) as object, methods,
      Object.fromEntries(READING.map((method) => [method, this.#paced(methods[method])]))) as BrokerMethods
  }

  /** To be called when something of what was left unread has been read. */
  goOn(): void {
    while (this.#waiting.length > 0 && this.#isOpen) this.#waiting.shift()!()
  }

  get #isOpen(): boolean {
    return this.#free > 0 && this.#queuedBytes() <= UNREAD_BYTES
  }

  #paced(read: Read): Read {
    return (callId, ...args) => {
      if (this.#waiting.length === 0 && this.#isOpen) return this.#begin(read, callId, args)
      return new Promise((resolve) => this.#waiting.push(() => resolve(this.#begin(read, callId, args))))
    }
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
