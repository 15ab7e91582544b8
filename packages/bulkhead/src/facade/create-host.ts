import { join, resolve } from 'node:path'
import type { McpServerStatus } from '@bulkhead/bridges/mcp'
import {
  BulkheadError, type Clock, type ConfigFile, type ProjectTrust, requireOptions, type Store, type ToolDefinition,
} from '@bulkhead/contract'
import {
  type ApprovalFilter, createHost as createHostCore, type Host as CoreHost, type Session, type SmokeCheck, type SwitchReport, systemClock,
} from '@bulkhead/host'
import { forms, type OptionForms } from '@bulkhead/kit/options'
import { createLoader, PROJECT_FOLDER } from '@bulkhead/loader'
import { createMemoryStore } from '@bulkhead/store'
import { type AgentRunner, argumentsReaders, type BundledExtension, createBundledExtensions, ToolShelf } from '@bulkhead/tools-bundled'
import { homeFolder } from './folders.ts'
import { cacheFolder, type LayerFolders, loaderOptions, userFolder } from './loader-options.ts'
import { canonicalFolder, openPlace, OpenPlaces, type PlaceOptions, type TrustChoice } from './open-place.ts'
import { operatorEnvironment } from './operator-surroundings.ts'
import { createProcessOwner, createSidecar } from './sidecar.ts'
import { traceWherePresent } from './tracing.ts'

export interface CreateHostOptions extends BundledLayerOptions, LayerFolders, PlaceOptions {
  /** The folder the tools work on, and the place of the project layer. */
  readonly workspace: string
  /** The folder of the global layer. Default: `.bulkhead` in the home directory. */
  readonly home?: string
  /**
   * Whether the project layer may be read, whatever it is or becomes. Default: decided at every load and reload by what was said of that
   * very content, else the interactor is asked; without one it is declined.
   */
  readonly trust?: ProjectTrust
  /** What a new generation must pass besides starting, before it takes over from one that runs. */
  readonly smokeCheck?: SmokeCheck
  /** Where state, approvals, paused calls and the audit are kept. Closed with the host. Default: one that forgets. */
  readonly store?: Store
  /** Where declared environment variables are looked up. Default: the environment of this process. */
  readonly env?: Readonly<Record<string, string | undefined>>
  /**
   * When MCP servers are started or reached of which nobody knows yet what they offer: with the first session, or only by
   * `mcp.connect`. Others are when a tool of theirs is called. Default: first-session.
   */
  readonly discover?: 'first-session' | 'when-asked'
}

/** The MCP servers of the configuration. */
export interface McpBook {
  /** Starts nothing. */
  servers(): readonly McpServerStatus[]
  /** Starts or reaches these, all unless named, and resolves when each has answered or failed; what they offer is offered then. */
  connect(names?: readonly string[]): Promise<readonly McpServerStatus[]>
}

/** The host with what only the whole knows. */
export interface Host extends Omit<CoreHost, 'switchWorkspace' | 'close'>, Pick<BundledLayer, 'offeredTools'> {
  /** Lets running calls end, cancels what is left, stops extensions in reverse order, and closes the store. Never rejects; idempotent. */
  close(): ReturnType<CoreHost['close']>
  /**
   * From here on the host works in another folder, with the layer of that project. Sessions that are open stay in theirs.
   * Rejects with ProjectPathInvalid, and then nothing has changed. Trust is decided as for the first folder.
   */
  switchWorkspace(workspace: string, options?: Pick<CreateHostOptions, 'trust'>): Promise<SwitchReport>
  readonly mcp: McpBook
}

const OPTIONS: OptionForms<CreateHostOptions> = {
  workspace: forms.text, home: forms.text, trust: forms.oneOf('trusted', 'declined', 'once'), smokeCheck: forms.method,
  store: forms.having('read', 'write', 'close'), env: forms.object, runAgent: forms.method, fetchHosts: forms.list(forms.text),
  projectFolder: forms.text, bundledFolder: forms.text, cache: forms.text, interactor: forms.having('interact'),
  watch: forms.either(forms.flag, forms.method), config: forms.object, discover: forms.oneOf('first-session', 'when-asked'),
}

const SWITCHED = { trust: OPTIONS.trust }
const OFFERED = { session: forms.having('tools') }
const CONNECTED = { names: forms.list(forms.text) }

/**
 * Everything wired: finds and proves extensions, and answers calls. Rejects only for options that cannot be used, ConfigInvalid,
 * and for a workspace that cannot be opened, ProjectPathInvalid.
 */
export async function createHost(options: CreateHostOptions): Promise<Host> {
  requireOptions('createHost', options, OPTIONS, 'workspace')
  return assembleHost(options, options.trust)
}

/** `createHost` for the command line, which can also agree to a project as it is found. */
export async function assembleHost(options: CreateHostOptions, firstTrust: TrustChoice | undefined): Promise<Host> {
  const home = homeFolder(options.home)
  const env = options.env ?? process.env
  const bundled = createBundledLayer(options, home)
  const loader = createLoader(loaderOptions(home, options, bundled.extensions))
  const operator = operatorEnvironment(env)
  const lookUp = (name: string) => Object.hasOwn(env, name) ? env[name] : undefined
  const closing = new AbortController()
  const projectFolder = options.projectFolder ?? PROJECT_FOLDER
  const surroundings = { operator, home, projectFolder, env: lookUp, cacheFolder: cacheFolder(home, options), signal: closing.signal }
  const enter = (folder: string, trust: TrustChoice | undefined) => openPlace(loader, folder, trust, { ...options, ...surroundings })
  const first = await enter(options.workspace, firstTrust)
  const store = options.store ?? createMemoryStore()
  const host = createHostCore({
    ...first, store, argumentsReaders,
    sidecar: createSidecar(),
    owner: createProcessOwner(),
    userData: userFolder(home),
    env: lookUp,
    ...(options.interactor ? { interactor: options.interactor } : {}),
    ...(options.smokeCheck ? { smokeCheck: options.smokeCheck } : {}),
  })
  bundled.attach(host)
  const places = new OpenPlaces(host, first)
  const stopTracing = await traceWherePresent(host)
  return {
    offeredTools(session) {
      requireOptions('offeredTools', { session }, OFFERED, 'session')
      return bundled.offeredTools(session)
    },
    approvals: {
      list: async (filter = {}) => host.approvals.list(await canonicalFilter(filter)),
      damaged: async (filter = {}) => host.approvals.damaged(await canonicalFilter(filter)),
      revoke: async (which, by) => host.approvals.revoke(typeof which === 'string' ? which : await canonicalFilter(which), by),
    },
    tools: () => host.tools(),
    tool: (name) => host.tool(name),
    extensions: () => host.extensions(),
    get diagnostics() {
      return host.diagnostics
    },
    tryWalls: () => host.tryWalls(),
    register: (extensions) => host.register(extensions),
    unregister: (id, layer) => host.unregister(id, layer),
    clear: () => host.clear(),
    reload: (request) => host.reload(request),
    async openSession(session = {}) {
      const workspace: unknown = session?.workspace
      if (options.discover !== 'when-asked') await places.servers.discover()
      return host.openSession(typeof workspace === 'string' ? { ...session, workspace: await canonicalFolder(workspace) } : session)
    },
    runWorkflow: (limits, work) => host.runWorkflow(limits, work),
    pausedCalls: () => host.pausedCalls(),
    forgetPaused: (id) => host.forgetPaused(id),
    interruptedCalls: () => host.interruptedCalls(),
    flush: () => host.flush(),
    on: (listener, types) => host.on(listener, types),
    metrics: () => host.metrics(),
    mcp: { servers: () => places.servers.status, async connect(names) {
      requireOptions('mcp.connect', { names }, CONNECTED)
      return places.servers.connect(names)
    } },
    async switchWorkspace(folder, chosen = {}) {
      requireOptions('switchWorkspace', chosen, SWITCHED)
      return places.switchTo(await enter(folder, chosen.trust))
    },
    async close() {
      closing.abort(new BulkheadError('HostClosed', 'The host is closed.'))
      const closed = await host.close()
      stopTracing()
      await places.close()
      await closeStore(store)
      return closed
    },
  }
}

/** A project is known by its real path; one that is gone, by the path it had. */
async function canonicalFilter(filter: ApprovalFilter): Promise<ApprovalFilter> {
  const workspace: unknown = filter?.workspace
  return typeof workspace !== 'string' ? filter : { ...filter, workspace: await canonicalFolder(workspace).catch(() => resolve(workspace)) }
}

/** As long as a host waits for any other answer of a store. */
const PATIENCE_MS = 30_000

/**
 * The end of a host is held up neither by a store that cannot be closed nor by one that does not answer: whoever must know whether
 * all was kept has flushed before. Never rejects.
 */
export function closeStore(store: Pick<Store, 'close'>, clock: Clock = systemClock): Promise<void> {
  return new Promise((done) => {
    const stopWaiting = clock.after(PATIENCE_MS, done)
    const closing = (async () => store.close())()
    closing.catch(() => undefined).then(() => {
      stopWaiting()
      done()
    })
  })
}

interface BundledLayerOptions {
  /** Runs sub-agents for the tool `task`, which is refused without it. */
  readonly runAgent?: AgentRunner
  /** Hosts that `web_fetch` may reach, such as localhost:3000 beside *. Default: every public name. */
  readonly fetchHosts?: readonly string[]
}

interface BundledLayer {
  readonly extensions: (config: ConfigFile) => readonly BundledExtension[]
  /** From here on `tool_search` finds the tools of this host. */
  attach(host: Pick<CoreHost, 'tools' | 'on'>): void
  /** What a session's model should be shown: with many tools, the locked ones and those it has found. */
  offeredTools(session: Pick<Session, 'id' | 'tools'>): readonly ToolDefinition[]
}

/** The tools that ship with the host, wired to it. */
function createBundledLayer({ runAgent, fetchHosts }: BundledLayerOptions, home: string): BundledLayer {
  const shelf = new ToolShelf()
  let attached: Pick<CoreHost, 'tools'> | undefined
  return {
    extensions: ({ search, skills = {} }) => createBundledExtensions({
      runAgent, fetchHosts, search,
      catalog: { tools: () => attached?.tools() ?? [], found: (sessionId, names) => shelf.found(sessionId, names) },
      skills: { userFolder: join(userFolder(home), 'skills'), paths: skills.paths },
    }).filter(({ manifest }) => skills.enabled !== false || manifest.id !== 'skill'),
    attach(host) {
      attached = host
      host.on((event) => {
        if (event.type === 'SessionClosed') shelf.forget(event.sessionId)
      }, ['SessionClosed'])
    },
    offeredTools: (session) => shelf.offered(session.id, session.tools()),
  }
}
