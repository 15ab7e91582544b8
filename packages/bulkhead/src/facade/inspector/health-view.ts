import { cpuUsage, memoryUsage, pid } from 'node:process'
import type { AuditChainReader } from '@bulkhead/contract/audit'
import type { CompartmentUse, HostUse, JoinedHost } from '@bulkhead/contract'
import type { Inspected } from '@bulkhead/inspector'
import type { HealthView, HostHealth, ProcessHealth, ServerHealth } from '@bulkhead/inspector/protocol'
import { treeUse } from '@bulkhead/kit/process-tree'
import { visibleText } from '@bulkhead/kit/text'
import type { WallReport } from '@bulkhead/host'
import type { Host } from '../create-host.ts'
import type { Inspectable } from '../inspectable.ts'
import { AuditHealths } from './audit-health.ts'
import { CpuShares } from './cpu-shares.ts'

/** What runs, and how well. */
export class HealthViews {
  readonly #host: Host
  readonly #inside: Inspectable
  readonly #audit: AuditHealths
  readonly #shares = new CpuShares()
  #walls: Promise<WallReport> | undefined

  constructor(host: Host, inside: Inspectable, chains: () => Promise<readonly AuditChainReader[]>) {
    this.#host = host
    this.#inside = inside
    const isOff = (): boolean => inside.core.inside.loaded().config.merged.audit?.enabled === false
    this.#audit = new AuditHealths(chains, isOff)
    host.on((event) => {
      if (event.type === 'SuppressedError' && event.source === 'audit') this.#audit.lost(event.message)
    }, ['SuppressedError'])
  }

  async view(): ReturnType<Inspected['health']> {
    const [audit, walls] = await Promise.all([this.#audit.view(), this.#wallReport()])
    const [hosts, processes, servers] = await Promise.all([this.#hosts(), this.#processes(walls), this.#servers(walls)])
    this.#shares.swap()
    const frozen = await this.#inside.store.work?.frozen().catch(() => undefined)
    return {
      hosts, processes, servers, audit,
      walls: walls?.walls.map(({ name, around, stands, reason, cost, cure }) => ({
        name, around, stands, ...(reason !== undefined && { reason: shown(reason) }), cost: shown(cost), cure: shown(cure),
      })) ?? [],
      wallLine: walls?.line ?? 'The walls of this machine could not be tried now.',
      ...(frozen && {
        frozen: {
          since: frozen.since, by: shown(frozen.by), ...(frozen.reason !== undefined && { reason: shown(frozen.reason) }),
        },
      }),
      problems: problemsOf(this.#host),
    }
  }

  async #hosts(): Promise<readonly HostHealth[]> {
    const found = await this.#host.hosts().catch(() => [])
    const living = found.filter(({ state, rules }) => state !== 'gone' && rules !== '')
    const differing = (one: JoinedHost): boolean =>
      living.some(({ workspace, rules }) => workspace === one.workspace && rules !== one.rules)
    const own = this.#ownUse()
    return found.map((one) => {
      const { id, machine, pid: process, version, workspace, state, since, silentMs, sessions, questions, calls, rules } = one
      // A host that joined the store again has a number after its id.
      const here = id === this.#inside.id || id.startsWith(`${this.#inside.id}.`)
      return {
        id, machine: shown(machine), pid: process, version: shown(version), workspace: shown(workspace), state, since, silentMs,
        sessions: sessions.length, questions: questions.length, calls: calls.length, here, rules, rulesDiffer: differing(one),
        ...(here ? own : saidUse(one.use)),
      }
    })
  }

  #ownUse(): Partial<HostHealth> {
    const { user, system } = cpuUsage()
    return {
      memoryBytes: memoryUsage.rss(), ...this.#share('this host', (user + system) / 1_000),
      restarts: this.#host.extensions().reduce((sum, { restarts }) => sum + restarts, 0), lagMs: this.#host.loopLag().max,
    }
  }

  async #processes(walls: WallReport | undefined): Promise<readonly ProcessHealth[]> {
    const around = wallsAround(walls, 'process')
    const used = new Map((await this.#inside.core.inside.uses()).map((one) => [keyOf(one), one.uses]))
    return this.#host.extensions().map((one) => {
      const { id, version, layer, placement, state, calls, restarts, fault } = one
      return {
        extension: shown(id), version: shown(version), layer, placement, state, calls, restarts,
        ...this.#usedBy(keyOf(one), used.get(keyOf(one)) ?? []), ...(placement !== 'process' && { pid }),
        walls: placement === 'process' ? around : [], ...(fault && { fault: shown(fault.message) }),
      }
    })
  }

  #usedBy(key: string, uses: readonly CompartmentUse[]): Partial<ProcessHealth> {
    if (uses.length === 0) return {}
    const [{ pid: only }] = uses as [CompartmentUse]
    const cpuMs = uses.reduce((sum, use) => sum + use.cpuMs, 0)
    return {
      memoryBytes: uses.reduce((sum, use) => sum + use.memoryBytes, 0), ...this.#share(key, cpuMs),
      ...(uses.length === 1 && only !== undefined && { pid: only }),
    }
  }

  #servers(walls: WallReport | undefined): Promise<readonly ServerHealth[]> {
    const around = wallsAround(walls, 'servers')
    return Promise.all(this.#host.mcp.servers().map(async ({ name, type, address, state, unconfined, error, pid: own, restarts }) => {
      const use = own === undefined ? undefined : await treeUse(own)
      return {
        name: shown(name), address: shown(address), state, restarts, ...(own !== undefined && { pid: own }),
        ...(use && { memoryBytes: use.memoryBytes, ...this.#share(`server ${name} ${own}`, use.cpuMs) }),
        walls: type === 'local' && unconfined !== true ? around : [], frames: state !== 'disabled',
        ...(error && { fault: shown(error.message) }),
      }
    }))
  }

  #share(key: string, cpuMs: number): { readonly cpuShare?: number } {
    const cpuShare = this.#shares.of(key, cpuMs)
    return cpuShare === undefined ? {} : { cpuShare }
  }

  /** Tried once: it can take a second. */
  #wallReport(): Promise<WallReport | undefined> {
    this.#walls ??= this.#host.walls()
    return this.#walls.catch(() => {
      this.#walls = undefined
      return undefined
    })
  }
}

/** What is wrong with the configuration, extensions and servers, each with its cure. */
export const problemsOf = ({ diagnostics }: Pick<Host, 'diagnostics'>): readonly string[] =>
  diagnostics.map(({ message, cure }) => shown(`${message} ${cure ?? ''}`.trim()))

const wallsAround = (report: WallReport | undefined, place: HealthView['walls'][number]['around']): readonly string[] =>
  report?.walls.filter(({ around, stands }) => around === place && stands).map(({ name }) => name) ?? []
const keyOf = ({ id, layer, generation }: { readonly id: string; readonly layer: string; readonly generation: number }): string =>
  `${layer} ${id} ${generation}`

/** Another version of Bulkhead may have written it. */
function saidUse(use: HostUse | undefined): Partial<HostHealth> {
  const { memoryBytes, cpuShare, restarts, walls } = use ?? {} as Partial<HostUse>
  return {
    ...(typeof memoryBytes === 'number' && { memoryBytes }), ...(typeof cpuShare === 'number' && { cpuShare }),
    ...(typeof restarts === 'number' && { restarts }), ...(Array.isArray(walls) && { walls: walls.map((name) => shown(String(name))) }),
  }
}

const shown = (text: string): string => visibleText(text)
