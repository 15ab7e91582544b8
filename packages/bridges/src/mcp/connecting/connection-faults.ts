import { BulkheadError } from '@bulkhead/contract'
import { messageOf } from '@bulkhead/kit/error-message'
import { visibleText } from '@bulkhead/kit/text'
import { LimitReached } from '../../connected/backoff.ts'
import type { ServerLog } from '../../connected/server-log.ts'
import { grantHint } from './missing-grants.ts'
import type { ServerEntry } from './server-entry.ts'
import { callFault, networkReason, unavailable, unreachable } from './server-messages.ts'

/** Errors of connecting that are reported unchanged. */
const SPECIFIC_CODES: ReadonlySet<string> = new Set([
  'ServerUnavailable', 'EnvNameNotSet', 'CapabilityUnavailable', 'SignInRequired', 'SignInFailed', 'StoreUnavailable',
])

/** The errors of connecting to one server. */
export class ConnectionFaults {
  readonly #entry: Pick<ServerEntry, 'name' | 'config'>
  readonly #log: Pick<ServerLog, 'last' | 'lines'>
  readonly #redact: (text: string) => string

  constructor(
    entry: Pick<ServerEntry, 'name' | 'config'>, log: Pick<ServerLog, 'last' | 'lines'>,
    redact: (text: string) => string,
  ) {
    this.#entry = entry
    this.#log = log
    this.#redact = redact
  }

  get #name(): string {
    return this.#entry.name
  }

  get #isLocal(): boolean {
    return this.#entry.config.type === 'local'
  }

  ofOpening(error: unknown): BulkheadError {
    if (error instanceof RangeError) {
      return this.unavailable(this.#withLastLine(`it sent a message that is too large: ${error.message}`))
    }
    const reason = this.#isLocal || BulkheadError.is(error) ? undefined : networkReason(error)
    if (reason !== undefined) return this.unavailable(unreachable(visibleText(this.#redact(reason))))
    const fault = callFault(this.#name, error, this.#redact)
    if (SPECIFIC_CODES.has(fault.code)) return fault
    // A remote server may run on: only the connection has ended.
    const end = this.#isLocal ? 'it exited during startup' : 'it closed the connection before it answered'
    return this.unavailable(this.#withLastLine(fault.code === 'ServerLost' ? end : fault.message))
  }

  /** The fault of a server that was connected. `why`: undefined if it ended without an error. */
  ofLoss(why: unknown): BulkheadError {
    if (why instanceof LimitReached) return this.unavailable(why.message)
    const how = this.#isLocal ? 'it exited' : 'the connection was closed'
    return this.unavailable(this.#withLastLine(why === undefined ? how : messageOf(why)))
  }

  /** The last line of standard error often tells why a server exited. */
  #withLastLine(what: string): string {
    const { last, lines } = this.#log
    const hint = grantHint(this.#entry, [what, ...lines].join('\n'))
    return [
      visibleText(this.#redact(what)).replace(/\.$/, ''),
      ...(last === undefined ? [] : [`Last line of its standard error: ${last.replace(/\.$/, '')}`]),
      ...(hint === undefined ? [] : [hint]),
    ].join('. ')
  }

  /** A server that requires a sign-in is not tried again before. */
  inBackoff(ms: number, fault: BulkheadError | undefined): BulkheadError {
    if (fault?.code === 'SignInRequired') return fault
    const seconds = Math.ceil(ms / 1_000)
    const why = fault?.message.replace(/\.$/, '') ?? 'it failed'
    return this.unavailable(`${why}. The next attempt is possible in ${seconds} s`, ms)
  }

  unavailable(why: string, retryAfterMs?: number): BulkheadError {
    const text = why.startsWith(unavailable(this.#name)) ? why : `${unavailable(this.#name)}: ${why}`
    const data = { server: this.#name, ...(retryAfterMs !== undefined && { retryAfterMs: Math.ceil(retryAfterMs) }) }
    return new BulkheadError('ServerUnavailable', `${text}.`.replace(/\.\.$/, '.'), { data })
  }
}
