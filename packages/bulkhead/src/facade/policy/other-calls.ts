import { comparePatterns, type Rule } from '@bulkhead/contract'
import type { AuditChainReader, CallRow } from '@bulkhead/contract/audit'
import type { Explanation } from '@bulkhead/host'
import type { OtherCalls } from '@bulkhead/inspector/protocol'
import { isJsonObject, type JsonObject } from '@bulkhead/kit/json'
import { visibleText } from '@bulkhead/kit/text'

const MOST_EXAMPLES = 3
/** Decided again for one view. Further calls are compared by their keys. */
const MOST_DECIDED = 200

/** Whether a rule allows a call with this key. */
export const coversKey = (rule: Rule, { tool, subject }: Pick<CallRow, 'tool' | 'subject'>, isPath: boolean): boolean =>
  tool === rule.permission && comparePatterns({ pattern: subject, action: 'allow' }, rule, isPath ? 'path' : 'text') !== undefined

type Explain = (tool: string, args: JsonObject, added: readonly Rule[]) => Promise<Explanation>

/** Which recorded calls a rule would have decided otherwise. A call is decided again if its record has the arguments. */
export class OtherCallsFinder {
  readonly #chains: ReadonlyMap<string, AuditChainReader>
  readonly #explain: Explain
  readonly #arguments = new Map<CallRow, Promise<JsonObject | undefined>>()
  #left = MOST_DECIDED

  constructor(chains: readonly AuditChainReader[], explain: Explain) {
    this.#chains = new Map(chains.map((chain) => [chain.name, chain]))
    this.#explain = explain
  }

  /** `rows`: recorded calls without those that the rule is proposed for. Rejects with StoreUnavailable. */
  async of(rule: Rule, rows: readonly CallRow[], isPath: boolean): Promise<OtherCalls> {
    const found: CallRow[] = []
    let byKey = 0
    for (const row of rows) {
      if (!isHeldUp(row) || !coversKey(rule, row, isPath)) continue
      const args = await this.#argumentsOf(row)
      if (args === undefined) byKey++
      if (args === undefined || await this.#isFreed(row.tool, args, rule)) found.push(row)
    }
    const denied = found.filter(({ state }) => state === 'denied').length
    const subjects = [...new Set(found.map(({ subject }) => visibleText(subject)))]
    return { asked: found.length - denied, denied, examples: subjects.slice(0, MOST_EXAMPLES), byKey }
  }

  async #isFreed(tool: string, args: JsonObject, rule: Rule): Promise<boolean> {
    return (await this.#explain(tool, args, [])).decision !== 'allow' && (await this.#explain(tool, args, [rule])).decision === 'allow'
  }

  #argumentsOf(row: CallRow): Promise<JsonObject | undefined> {
    return this.#arguments.getOrInsertComputed(row, () => this.#read(row))
  }

  /** As it was recorded. undefined: without its arguments, or not with all of them. */
  async #read({ host, position, parent }: CallRow): Promise<JsonObject | undefined> {
    if (parent !== undefined || this.#left-- <= 0) return undefined
    const [entry] = await this.#chains.get(host)?.records(position, 1) ?? []
    const args = isJsonObject(entry?.record) ? entry.record['args'] : undefined
    return isJsonObject(args) && !JSON.stringify(args).includes('[redacted]') ? args : undefined
  }
}

/** Asked about, or denied where a rule could have allowed it: a rule that denies and a watchdog stay. */
const isHeldUp = ({ askedMs, state, decision }: CallRow): boolean =>
  askedMs !== undefined || (state === 'denied' && decision?.stage === 'approval')
