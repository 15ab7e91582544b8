import { cpuUsage, memoryUsage, pid } from 'node:process'
import type { AuditChainReader } from '@bulkhead/contract/audit'
import type { BulkheadEvent, JoinedHost } from '@bulkhead/contract'
import type { Inspected } from '@bulkhead/inspector'
import type { AuditHealth, HealthView, HostHealth, ProcessHealth, ServerHealth } from '@bulkhead/inspector/protocol'
import { visibleText } from '@bulkhead/kit/text'
import type { WallReport } from '@bulkhead/host'
import type { Host } from '../create-host.ts'
import type { Inspectable } from '../inspectable.ts'

/** What runs, and how well. */
export class HealthViews {
  readonly #host: Host
  readonly #inside: Inspectable
  readonly #chains: () => Promise<readonly AuditChainReader[]>
  /** Ends of compartments by themselves, by extension. */
  readonly #ends = new Map<string, number>()
  #lost: string | undefined
  #cpu = { at: performance.now(), used: cpuUsage() }
  #walls: Promise<WallReport> | undefined

  constructor(host: Host, inside: Inspectable, chains: () => Promise<readonly AuditChainReader[]>) {
    this.#host = host
    this.#inside = inside
    this.#chains = chains
    host.on((event) => this.#note(event), ['CompartmentEnded', 'SuppressedError'])
  }

  async view(): ReturnType<Inspected['health']> {
    const [hosts, audit, walls] = await Promise.all([this.#hosts(), this.#audit(), this.#wallReport()])
    const frozen = await this.#inside.store.work?.frozen().catch(() => undefined)
    return {
      hosts, processes: this.#processes(walls), servers: this.#servers(walls), audit,
      walls: walls?.walls.map(({ name, around, stands, reason, cost, cure }) => ({
        name, around, stands, ...(reason !== undefined && { reason: shown(reason) }), cost: shown(cost), cure: shown(cure),
      })) ?? [],
      wallLine: walls?.line ?? 'The walls of this machine could not be tried now.',
      ...(frozen && {
        frozen: {
          since: frozen.since, by: shown(frozen.by), ...(frozen.reason !== undefined && { reason: shown(frozen.reason) }),
        },
      }),
      problems: this.#host.diagnostics.map(({ message, cure }) => shown(`${message} ${cure ?? ''}`.trim())),
    }
  }

  #note(event: BulkheadEvent): void {
    if (event.type === 'CompartmentEnded' && event.errorCode !== null) {
      this.#ends.set(event.extensionId, (this.#ends.get(event.extensionId) ?? 0) + 1)
    }
    if (event.type === 'SuppressedError' && event.source === 'audit') this.#lost = event.message
  }

  async #hosts(): Promise<readonly HostHealth[]> {
    const found = await this.#host.hosts().catch(() => [])
    const living = found.filter(({ state, rules }) => state !== 'gone' && rules !== '')
    const differing = (one: JoinedHost): boolean =>
      living.some(({ workspace, rules }) => workspace === one.workspace && rules !== one.rules)
    const own = this.#ownUse()
    return found.map((one) => {
      const { id, machine, pid: process, version, workspace, state, since, silentMs, sessions, questions, calls, rules } = one
      const here = id === this.#inside.id
      return {
        id, machine: shown(machine), pid: process, version: shown(version), workspace: shown(workspace), state, since, silentMs,
        sessions: sessions.length, questions: questions.length, calls: calls.length, here, rules, rulesDiffer: differing(one),
        ...(here && own),
      }
    })
  }

  /** Since the last view. */
  #ownUse(): Pick<HostHealth, 'memoryBytes' | 'cpuShare' | 'lagMs'> {
    const [before, at] = [this.#cpu, performance.now()]
    const used = cpuUsage()
    this.#cpu = { at, used }
    const spentMs = (used.user + used.system - before.used.user - before.used.system) / 1_000
    return {
      memoryBytes: memoryUsage.rss(), cpuShare: Math.max(0, spentMs / Math.max(1, at - before.at)),
      lagMs: this.#host.loopLag().max,
    }
  }

  #processes(walls: WallReport | undefined): readonly ProcessHealth[] {
    const around = standing(walls, 'process')
    return this.#host.extensions().map(({ id, version, layer, placement, state, calls, fault }) => ({
      extension: shown(id), version: shown(version), layer, placement, state, calls, restarts: this.#ends.get(id) ?? 0,
      ...(placement !== 'process' && { pid }), walls: placement === 'process' ? around : [],
      ...(fault && { fault: shown(fault.message) }),
    }))
  }

  #servers(walls: WallReport | undefined): readonly ServerHealth[] {
    const around = standing(walls, 'servers')
    return this.#host.mcp.servers().map(({ name, type, address, state, unconfined, error }) => ({
      name: shown(name), kind: 'mcp' as const, address: shown(address), state, restarts: this.#ends.get(name) ?? 0,
      walls: type === 'local' && unconfined !== true ? around : [], frames: state !== 'disabled',
      ...(error && { fault: shown(error.message) }),
    }))
  }

  /** Tried once: it can take a second. */
  #wallReport(): Promise<WallReport | undefined> {
    this.#walls ??= this.#host.walls()
    return this.#walls.catch(() => {
      this.#walls = undefined
      return undefined
    })
  }

  async #audit(): Promise<AuditHealth> {
    const { config: { merged: { audit } } } = this.#inside.core.inside.loaded()
    const chains = await this.#chains().catch(() => [])
    const spans = await Promise.all(chains.map(async (chain) => ({ name: shown(chain.name), ...await chain.auditSpan() })))
      .catch(() => [])
    const listed = spans.map(({ name, first, last, link }) => ({ name, first, last, link }))
    if (this.#lost !== undefined) return { status: 'lost', words: `Records were lost: ${shown(this.#lost)}`, chains: listed }
    if (chains.length === 0) return { status: 'off', words: 'Nothing outlives this process: there is no store.', chains: [] }
    if (audit?.enabled === false) return { status: 'off', words: 'The configuration turns the audit off.', chains: listed }
    return { status: 'on', words: 'Every decision is recorded. `bulkhead audit verify` checks the chain.', chains: listed }
  }
}

const standing = (report: WallReport | undefined, place: HealthView['walls'][number]['around']): readonly string[] =>
  report?.walls.filter(({ around, stands }) => around === place && stands).map(({ name }) => name) ?? []
const shown = (text: string): string => visibleText(text)
