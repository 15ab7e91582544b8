import {
  compileCeiling, compileGrant, narrowPower, WORKER_LIMITS, type CompartmentLimits, type CompartmentSession,
  type ExtensionDescriptor, type Power,
} from '@bulkhead/contract'
import { canonicalJson, type Json, type JsonObject } from '@bulkhead/kit/json'
import type { CallerLink } from './caller-link.ts'
import type { WorkerOptions, WorkerPlace } from './worker-options.ts'
import { workerServices } from './worker-services.ts'

/** What a compartment is for. Calls of different callers or tenants share none. */
export interface CompartmentKey {
  readonly caller: string
  readonly tenant: string
  readonly workspace: string | null
  readonly config: JsonObject
  readonly limits: CompartmentLimits
  readonly extension: ExtensionDescriptor
}

export interface WarmCompartment {
  readonly session: CompartmentSession
  /** The grant of each tool on this machine. */
  readonly grants: ReadonlyMap<string, Power>
  /** Of its running calls. */
  readonly links: Map<string, CallerLink>
}

interface Entry {
  readonly opening: Promise<WarmCompartment>
  inUse: number
}

/** So many stay open without a call. */
const MOST_IDLE = WORKER_LIMITS.idleCompartments

/** The open compartments of a worker. */
export class Compartments {
  readonly #options: WorkerOptions
  /** The least recently used first. */
  readonly #open = new Map<string, Entry>()

  constructor(options: WorkerOptions) {
    this.#options = options
  }

  /** Runs a call in a compartment, which is opened if there is none. `link`: answers what its phases ask. */
  async use<Value>(
    key: CompartmentKey, link: CallerLink, run: (compartment: WarmCompartment) => Promise<Value>,
  ): Promise<Value> {
    const name = nameOf(key)
    const entry = this.#open.get(name) ?? { opening: this.#start(key, link, name), inUse: 0 }
    this.#open.delete(name)
    this.#open.set(name, entry)
    entry.inUse++
    try {
      return await run(await entry.opening)
    } finally {
      entry.inUse--
      this.#shrink()
    }
  }

  /** Runs the last phases and ends all. Never rejects. */
  async close(): Promise<void> {
    const open = [...this.#open.values()]
    this.#open.clear()
    await Promise.all(open.map(stop))
  }

  async #start(key: CompartmentKey, link: CallerLink, name: string): Promise<WarmCompartment> {
    try {
      const compartment = await this.#openOne(key, link)
      void compartment.session.ended.then(() => this.#open.delete(name))
      return compartment
    } catch (thrown) {
      this.#open.delete(name)
      throw thrown
    }
  }

  async #openOne({ extension, config, limits, workspace }: CompartmentKey, link: CallerLink): Promise<WarmCompartment> {
    const { manifest, code, id, version } = extension
    const { env, workspaces, bare } = this.#options
    const place = workspace === null ? bare : workspaces.get(workspace)!
    const links = new Map<string, CallerLink>()
    let opener: CallerLink | undefined = link
    const grants = this.#grantsOf(extension, place)
    if (code.kind !== 'files') throw new Error('A worker runs packages only.')
    const session = await place.sandbox.open({
      extension: { id, version, layer: 'global' }, placement: 'process', config, limits,
      code: { kind: 'files', main: manifest.main.slice('./'.length), files: await code.readFiles() },
      tools: manifest.tools.map(({ name, inputSchema, requires }) =>
        ({ name, grant: grants.get(name)!, inputSchema, requires: requires as unknown as JsonObject })),
      services: workerServices(extension, env, (callId) => callId === null ? opener : links.get(callId)),
    })
    try {
      await session.lifecycle('init')
      await session.lifecycle('activate')
    } catch (thrown) {
      await session.close()
      throw thrown
    }
    opener = undefined
    return { session, grants, links }
  }

  /** What the manifest declares, under every ceiling of this machine. */
  #grantsOf({ manifest: { id, env, secrets, stateSlot, tools } }: ExtensionDescriptor, { variables }: WorkerPlace): ReadonlyMap<string, Power> {
    const extension = { env, secrets, state: stateSlot === null ? [] : [id] }
    const ceilings = this.#options.ceilings.map((ceiling) => compileCeiling(ceiling, variables))
    return new Map(tools.map(({ name, requires }) =>
      [name, ceilings.reduce(narrowPower, compileGrant(requires, variables, extension))]))
  }

  #shrink(): void {
    let idle = this.#open.values().filter(({ inUse }) => inUse === 0).toArray().length
    for (const [name, entry] of this.#open) {
      if (idle <= MOST_IDLE) return
      if (entry.inUse > 0) continue
      this.#open.delete(name)
      void stop(entry)
      idle--
    }
  }
}

const nameOf = ({ caller, tenant, workspace, config, limits, extension }: CompartmentKey): string =>
  canonicalJson([caller, tenant, workspace, config, limits as unknown as Json, extension.digests.package])

async function stop({ opening }: Entry): Promise<void> {
  const session = (await opening.catch(() => undefined))?.session
  if (session === undefined) return
  for (const phase of ['deactivate', 'dispose'] as const) await session.lifecycle(phase).catch(() => undefined)
  await session.close()
}

