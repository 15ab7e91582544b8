import {
  BulkheadError, type CapabilityUse, type Clock, requireOptions, type Store,
} from '@bulkhead/contract'
import {
  createHost as createHostCore, type Host as CoreHost, openRecordings, type SessionOptions, systemClock,
} from '@bulkhead/host'
import { forms } from '@bulkhead/kit/options'
import { createLoader, PROJECT_FOLDER } from '@bulkhead/loader'
import type { CompartmentFailure, Inspection } from '@bulkhead/sandbox'
import { createMemoryStore } from '@bulkhead/store'
import { argumentsReaders } from '@bulkhead/tools-bundled'
import { createBundledLayer } from './bundled-layer.ts'
import { operatorEnvironment } from './command-environment.ts'
import { closeStore } from './close-store.ts'
import { canonicalFilter, inCanonicalFolder } from './canonical-options.ts'
import { cacheFolder, canonicalPath, homeFolder } from './folders.ts'
import { type CreateHostOptions, type Host, HOST_OPTIONS } from './host-types.ts'
import { loaderOptions, userFolder } from './loader-options.ts'
import { obeyOrders } from './capture/obeyed-orders.ts'
import { inspectable } from './inspectable.ts'
import { mcpBook } from './mcp-book.ts'
import { type OpenPlace, openPlace, OpenPlaces, type TrustChoice } from './open-place.ts'
import { OwnTools } from './own-tools.ts'
import { keptRecorder, learningHere, requireWorkWall } from './policy/learning.ts'
import { rememberWalls } from './remembered-walls.ts'
import { replicaRecords } from './replica-records.ts'
import { replaySession } from './replay/replay-session.ts'
import { SessionPrompts } from './session-prompts.ts'
import { givenRing, ownRing } from './passkeys/passkey-ring.ts'
import { profileOf, withProfile } from './profiles.ts'
import { givenStore } from './store-choice.ts'
import { createProcessOwner, createSidecar } from './sidecar.ts'
import { TenantHosts } from './tenant-hosts.ts'
import { traceWherePresent } from './tracing.ts'

export { HOST_OPTIONS, type CreateHostOptions, type Host, type TenantOptions } from './host-types.ts'

const SWITCHED = { trust: HOST_OPTIONS.trust }
const OFFERED = { session: forms.having('tools') }

/**
 * Creates a host: loads and verifies extensions, and runs calls. Rejects with ConfigInvalid for invalid options,
 * AgentInvalid for an invalid agent, and ProjectPathInvalid for a workspace that cannot be opened.
 */
export async function createHost(options: CreateHostOptions): Promise<Host> {
  requireOptions('createHost', options, HOST_OPTIONS, 'workspace')
  return openHost(options, options.tenant === undefined ? { tenants: new TenantHosts(options, openTenantHost) } : {})
}

/** Few tenants have calls at once, so that none has processes that wait for more. */
const openTenantHost: ConstructorParameters<typeof TenantHosts>[1] = (options, onClose) => openHost(options, { keepsSpares: false, onClose })

async function openHost(options: CreateHostOptions, assembly: Assembly): Promise<Host> {
  const store = await givenStore(options)
  try {
    return (await assembleHost({ ...withProfile(options), store }, options.trust, assembly)).host
  } catch (error) {
    if (store !== options.store) await store.close()
    throw error
  }
}

/** The store is open. Without one, nothing outlives the host. */
export type AssemblyOptions = Omit<CreateHostOptions, 'store'> & { readonly store?: Store }

/** A host and the folder that it has opened. */
export interface AssembledHost {
  readonly host: Host
  readonly place: OpenPlace
}

/** What the command line and tests decide besides the options of `createHost`. */
export interface Assembly {
  /** Default: true. */
  readonly startsEager?: boolean
  /** Whether processes and threads are kept ready for further extensions. Default: as configured. */
  readonly keepsSpares?: boolean
  /** Called for each use of a power. */
  readonly onUse?: ((use: CapabilityUse) => void) | undefined
  /** Called for each error that the code of an extension threw. */
  readonly onFailure?: ((failure: CompartmentFailure) => void) | undefined
  /** Opens debuggers for extensions that this process built from a folder. */
  readonly inspect?: Inspection | undefined
  readonly clock?: Clock | undefined
  /** A configuration file in place of the user's, to see what it would do. Absolute. */
  readonly userConfig?: string | undefined
  /** Roles that later sessions may have. */
  readonly roles?: () => Iterable<string>
  /** Default: it opens no hosts of tenants. */
  readonly tenants?: TenantHosts
  /** Called once, when the host begins to close. */
  readonly onClose?: () => void
}

/**
 * `createHost` for the command line, which can also trust the current content of a project, and for tests. `withProfile`
 * has completed the options.
 */
export async function assembleHost(
  options: AssemblyOptions, firstTrust: TrustChoice | undefined,
  { startsEager = true, clock = systemClock, roles = () => [], userConfig, tenants, onClose, ...ofSandbox }: Assembly = {},
): Promise<AssembledHost> {
  const home = homeFolder(options.home)
  const env = options.env ?? process.env
  const { config: defaults, agentsRequire, agentLevels } = profileOf(options.profile)
  const bundled = createBundledLayer(options, agentLevels)
  const workspace = await canonicalPath(options.workspace)
  const learning = learningHere(home, workspace, process.env)
  const folders = { ...options, ...(userConfig !== undefined && { userConfig }) }
  const loader = createLoader({ ...loaderOptions(home, folders, bundled.extensions), ...(defaults && { defaults }) })
  const operator = operatorEnvironment(env)
  const lookUp = (name: string) => Object.hasOwn(env, name) ? env[name] : undefined
  const closing = new AbortController()
  const projectFolder = options.projectFolder ?? PROJECT_FOLDER
  const store = options.store ?? createMemoryStore()
  const owner = createProcessOwner()
  const surroundings = {
    variables: env, operator, home, tenant: options.tenant, projectFolder, env: lookUp, cacheFolder: cacheFolder(home, options),
    signal: closing.signal, ...ofSandbox,
    storeFiles: await Promise.all((store.files ?? []).map(canonicalPath)), placements: store.placements,
  }
  const enter = (folder: string, trust: TrustChoice | undefined) =>
    openPlace(loader, folder, trust, { ...options, ...surroundings })
  const first = await enter(options.workspace, firstTrust)
  const passkeys = options.passkeys ? givenRing(options.passkeys) : ownRing(home)
  const { servers: _servers, skills: _skills, ...place } = first
  const host = createHostCore({
    ...place, store, passkeys, argumentsReaders, startsEager, clock, roles,
    sidecar: createSidecar((sessionId) => bundled.lentFiles(sessionId)),
    owner,
    userData: userFolder(home, options.tenant),
    env: lookUp,
    ...(options.interactor ? { interactor: options.interactor } : {}),
    ...(options.agents ? { agents: options.agents } : {}),
    ...(options.hooks ? { hooks: options.hooks } : {}),
    ...(options.smokeCheck ? { smokeCheck: options.smokeCheck } : {}),
    ...(agentsRequire && { agentsRequire }),
  })
  const places = new OpenPlaces(host, first)
  let records = false
  /** Before the first session that learns, its calls are recorded. */
  const prepared = async <Options extends SessionOptions>(given: Options): Promise<Options> => {
    const canonical = await inCanonicalFolder(given)
    const session = learning ? { ...canonical, mode: 'learn' as const } : canonical
    if ((session?.mode ?? places.config.merged.mode) !== 'learn') return session
    requireWorkWall(await first.sandbox.commandWalls?.())
    if (records) return session
    records = true
    const { onEvent, onUse } = learning ?? keptRecorder(home, workspace)
    host.on(onEvent, ['ToolInvocationDecided'])
    host.inside.onUse(({ tool, part, subject }) => onUse({ tool, part, subject }))
    return session
  }
  bundled.attach(host, places)
  const own = new OwnTools(host, loader, () => places.config)
  const prompts = new SessionPrompts(home, () => host.agents())
  const whole: Host = {
    ...boundMethods(host, AS_THEY_ARE),
    offeredTools(session) {
      requireOptions('offeredTools', { session }, OFFERED, 'session')
      return bundled.offeredTools(session)
    },
    promptSections: (session, chosen) => prompts.sections(session, chosen),
    approvals: {
      list: async (filter = {}) => host.approvals.list(await canonicalFilter(filter)),
      damaged: async (filter = {}) => host.approvals.damaged(await canonicalFilter(filter)),
      revoke: async (which, by) => host.approvals.revoke(
        typeof which === 'string' ? which : await canonicalFilter(which), by,
      ),
    },
    get diagnostics() {
      return [...host.diagnostics, ...prompts.diagnostics, ...places.servers.diagnostics]
    },
    async walls() {
      const report = await host.walls()
      rememberWalls(surroundings.cacheFolder, report.line)
      return report
    },
    register: (tools) => own.register(tools),
    unregister: (name, layer) => own.unregister(name, layer),
    async resumeSession(id, session = {}) {
      if (options.discover !== 'when-asked') await places.servers.discover()
      return host.resumeSession(id, await prepared(session))
    },
    async openSession(session = {}) {
      if (options.discover !== 'when-asked') await places.servers.discover()
      return host.openSession(await prepared(session))
    },
    ...(store.forgets ? {} : { replicas: replicaRecords(store, owner, first.report.config.merged) }),
    mcp: mcpBook(() => places.servers),
    recordings: openRecordings(store),
    async replay(id, chosen) {
      await host.inside.recorded()
      return replaySession({ core: host, openSession: (session) => whole.openSession(session) }, await whole.recordings.read(id), chosen)
    },
    async forTenant(id, chosen) {
      if (tenants) return tenants.host(id, chosen)
      const what = options.tenant === undefined ? 'This host was given an open store' : `This is the host of the tenant ${options.tenant}`
      throw new BulkheadError('ConfigInvalid', `${what}, so it opens no others. Name the server by its URL in createHost, without \`tenant\`.`)
    },
    workers: async () => await store.placements?.workers() ?? [],
    async switchWorkspace(folder, chosen = {}) {
      requireOptions('switchWorkspace', chosen, SWITCHED)
      const switched = await places.switchTo(await enter(folder, chosen.trust))
      await own.registerAgain()
      return switched
    },
    async close() {
      onClose?.()
      closing.abort(new BulkheadError('HostClosed', 'The host is closed.'))
      await tenants?.close()
      const closed = await host.close()
      stopTracing()
      for (const step of atClose) await step()
      await places.close()
      await closeStore(store)
      return closed
    },
  }
  const stopTracing = await traceWherePresent(whole)
  const onFault = (error: unknown): void => host.inside.suppressed('capture for inspectors', error)
  const atClose = new Set(store.forgets ? [] : [obeyOrders({
    store, id: owner.id, config: () => host.inside.loaded().config.merged, isBusy: () => host.inside.sessions().length > 0,
    begin: async () => new (await import('./capture/captured-calls.ts')).CapturedCalls({
      store, id: owner.id, inside: host.inside, onFault, servers: () => whole.mcp.servers().map(({ name }) => name),
      watchFrames: (name, listener) => places.servers.watchFrames(name, listener),
    }),
  })])
  inspectable.set(whole, { core: host, places, store, id: owner.id, home: options.home, passkeys, closing: atClose })
  return { host: whole, place: first }
}

/** Methods of the core that nothing is added to. */
const AS_THEY_ARE = [
  'tools', 'tool', 'agents', 'agent', 'extensions', 'tryWalls', 'clear', 'reload', 'runWorkflow', 'pausedCalls',
  'forgetPaused', 'interruptedCalls', 'hosts', 'freeze', 'thaw', 'flush', 'on', 'metrics', 'loopLag',
] as const satisfies readonly (keyof CoreHost)[]

const boundMethods = <Name extends keyof CoreHost>(host: CoreHost, names: readonly Name[]): Pick<CoreHost, Name> =>
  Object.fromEntries(names.map((name) => [name, (host[name] as () => unknown).bind(host)])) as Pick<CoreHost, Name>
