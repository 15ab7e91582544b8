import { untilAborted } from '@bulkhead/kit/deadlines'
import { isJsonObject, type Json } from '@bulkhead/kit/json'

const MOST_TOKENS = 1_000
/** Stands for the status of the whole server. */
const STATUS = Symbol('status')

/** Whether a server is still loading the project: until then its answers are incomplete. */
export class ServerActivity {
  readonly #tokens = new Set<string | number | symbol>()
  #quiet = Promise.withResolvers<void>()
  #changes = 0

  get isBusy(): boolean {
    return this.#tokens.size > 0
  }

  /** Changes with each report. */
  get changes(): number {
    return this.#changes
  }

  /** Resolves when the server reports no more work. */
  async untilQuiet(signal: AbortSignal): Promise<void> {
    while (this.isBusy) await untilAborted(this.#quiet.promise, signal)
  }

  /** Takes notifications about progress and status. */
  notice(method: string, params: Json): void {
    if (!isJsonObject(params)) return
    if (method === 'experimental/serverStatus') this.#set(STATUS, params['quiescent'] === false)
    const { token, value } = params
    if (method !== '$/progress' || !isJsonObject(value)) return
    if (typeof token !== 'string' && typeof token !== 'number') return
    if (value['kind'] === 'begin') this.#set(token, this.#tokens.size < MOST_TOKENS)
    if (value['kind'] === 'end') this.#set(token, false)
  }

  #set(token: string | number | symbol, isBusy: boolean): void {
    this.#changes++
    if (isBusy) this.#tokens.add(token)
    else this.#tokens.delete(token)
    if (this.isBusy) return
    this.#quiet.resolve()
    this.#quiet = Promise.withResolvers()
  }
}
