import type { AuditChainReader } from '@bulkhead/contract/audit'
import type { AuditChainItem, AuditHealth } from '@bulkhead/inspector/protocol'
import { visibleText } from '@bulkhead/kit/text'
import { AuditCheck } from '@bulkhead/store'

/** Records that are verified at once, and how often at most: some milliseconds of this thread. */
const STEP_RECORDS = 2_000
const STEP_MS = 1_000

/** Whether decisions are recorded, and whether the chains of the records are whole. */
export class AuditHealths {
  readonly #chains: () => Promise<readonly AuditChainReader[]>
  readonly #isOff: () => boolean
  /** By the name of the chain. */
  #checks = new Map<string, AuditCheck>()
  #steppedAt = -Infinity
  /** What was lost last. */
  #lost: string | undefined

  constructor(chains: () => Promise<readonly AuditChainReader[]>, isOff: () => boolean) {
    this.#chains = chains
    this.#isOff = isOff
  }

  lost(message: string): void {
    this.#lost = message
  }

  async view(): Promise<AuditHealth> {
    let items: readonly AuditChainItem[]
    try {
      const chains = await this.#chains()
      await this.#step(chains)
      items = await Promise.all(chains.map((chain) => this.#item(chain)))
    } catch (error) {
      return { status: 'on', words: `The audit cannot be read now: ${visibleText(String(error))}`, chains: [] }
    }
    return { ...this.#verdict(items), chains: items }
  }

  /** Verifies one part of the chain that was verified least lately. */
  async #step(chains: readonly AuditChainReader[]): Promise<void> {
    this.#checks = new Map(chains.map((chain) => [chain.name, this.#checks.get(chain.name) ?? new AuditCheck(chain)]))
    if (performance.now() - this.#steppedAt < STEP_MS) return
    this.#steppedAt = performance.now()
    const [next] = [...this.#checks.values()].toSorted((a, b) => (a.progress?.at ?? 0) - (b.progress?.at ?? 0))
    await next?.step(STEP_RECORDS)
  }

  async #item(chain: AuditChainReader): Promise<AuditChainItem> {
    const { first, last, link } = await chain.auditSpan()
    const found = this.#checks.get(chain.name)?.progress
    return {
      name: visibleText(chain.name), first, last, link,
      ...(found && found.last >= found.first && { checked: { last: found.last, at: found.at } }),
      ...(found?.broken && { broken: { ...found.broken, at: found.at } }),
    }
  }

  #verdict(items: readonly AuditChainItem[]): Omit<AuditHealth, 'chains'> {
    const broken = items.find((item) => item.broken !== undefined)
    if (broken) return { status: 'broken', words: brokenWords(broken) }
    if (this.#lost !== undefined) return { status: 'lost', words: `Records were lost: ${visibleText(this.#lost)}` }
    if (items.length === 0) return { status: 'off', words: 'Nothing outlives this process: there is no store.' }
    if (this.#isOff()) return { status: 'off', words: 'The configuration turns the audit off.' }
    const left = items.reduce((sum, { first, last, checked }) => sum + last - (checked?.last ?? Math.max(first, 1) - 1), 0)
    const isComplete = [...this.#checks.values()].every(({ progress }) => progress?.isComplete)
    if (isComplete) {
      return { status: 'checked', words: 'Every decision is recorded, and no record was changed, removed or moved.' }
    }
    return { status: 'on', words: `Every decision is recorded. ${left.toLocaleString('en')} records are not checked yet.` }
  }
}

const brokenWords = ({ name, broken }: AuditChainItem): string =>
  `The audit${name && ` of ${name}`} is broken at record ${broken!.position}: ${visibleText(broken!.reason)}. `
  + 'Keep the store as it is, and compare it with an export or a backup.'
