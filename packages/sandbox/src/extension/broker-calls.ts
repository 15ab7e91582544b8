import type { BrokerMethod } from '@bulkhead/contract'
import type { Log } from '@bulkhead/contract/author'
import type { Json } from '@bulkhead/kit/json'
import { CodedError } from '../wire/errors.ts'
import { toPlainJson, type PlainLimits } from '../wire/plain-json.ts'

/** Calls a method of the broker: over the wire from a compartment, directly when the extension runs inline. */
export type CallBroker = (method: BrokerMethod, ...args: readonly unknown[]) => Promise<Json>

/** Refuses arguments that the host would treat as an attack: honest code makes mistakes too. */
export function withPlainArgs(callBroker: CallBroker, limits: PlainLimits): CallBroker {
  return async (method, ...args) => callBroker(method, ...args.map((arg) => {
    const plain = toPlainJson(arg, limits)
    if (!plain.ok) {
      throw new CodedError('InputInvalid', `${method} got an argument that cannot be sent. ${plain.message}`)
    }
    return plain.value
  }))
}

type Level = keyof Log

/** Further lines are dropped and counted while so many are on their way to the host. */
const MAX_LINES_IN_FLIGHT = 256
const LINE_CHARS = 8_192

/** Sends log lines to the host. */
export class LogSender {
  readonly #callBroker: CallBroker
  #inFlight = 0
  #dropped = 0

  constructor(callBroker: CallBroker) {
    this.#callBroker = callBroker
  }

  send(level: Level, text: string, callId: string | null): void {
    if (this.#inFlight >= MAX_LINES_IN_FLIGHT) {
      this.#dropped++
      return
    }
    const note = this.#dropped > 0 ? ` (${this.#dropped} lines before this one were dropped)` : ''
    this.#dropped = 0
    this.#inFlight++
    const arrived = (): void => void this.#inFlight--
    this.#callBroker('log', callId, level, text.slice(0, LINE_CHARS).toWellFormed() + note).then(arrived, arrived)
  }

  forCall(callId: string | null): Log {
    const line = (level: Level) => (text: string): void => this.send(level, String(text), callId)
    return Object.freeze({ debug: line('debug'), info: line('info'), warn: line('warn'), error: line('error') })
  }
}
