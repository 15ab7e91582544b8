import type { ReplicaRecords } from '@bulkhead/bridges/mcp'
import {
  type AgentInput, BulkheadError, type CapabilityUse, type Clock, type Layer, type ListedWorker, type Passkey, type ProjectTrust,
  requireOptions, type Store,
} from '@bulkhead/contract'
import {
  createHost as createHostCore, type Host as CoreHost, openRecordings, type RecordingBook, type Session,
  type Hooks, type SessionOptions, type SmokeCheck, type SwitchReport, systemClock,
} from '@bulkhead/host'
import { forms, type OptionForms } from '@bulkhead/kit/options'
import { createLoader, PROJECT_FOLDER } from '@bulkhead/loader'
import type { CompartmentFailure, Inspection } from '@bulkhead/sandbox'
import { createMemoryStore } from '@bulkhead/store'
import { argumentsReaders, type PromptSections } from '@bulkhead/tools-bundled'
import { createBundledLayer, type BundledLayer, type BundledLayerOptions } from './bundled-layer.ts'
import { operatorEnvironment } from './command-environment.ts'
import { closeStore } from './close-store.ts'
import { canonicalFilter, inCanonicalFolder } from './canonical-options.ts'
import { cacheFolder, canonicalPath, homeFolder } from './folders.ts'
import { type LayerFolders, loaderOptions, userFolder } from './loader-options.ts'
import { inspectable, UseListeners } from './inspectable.ts'
import { type McpBook, mcpBook } from './mcp-book.ts'
import {
  type OpenPlace, openPlace, OpenPlaces, type PlaceOptions, type TrustChoice,
} from './open-place.ts'
import { type ForeignTool, OwnTools, type Registrable } from './own-tools.ts'
import { LEARNING_CEILING, learningHere, learningSession } from './policy/learning.ts'
import { rememberWalls } from './remembered-walls.ts'
import { replicaRecords } from './replica-records.ts'
import { type ReplayOptions, type ReplayReport, replaySession } from './replay/replay-session.ts'
import { type PromptSectionsOptions, SessionPrompts } from './session-prompts.ts'
import { givenRing, ownRing, PASSKEYS_FORM } from './passkeys/passkey-ring.ts'
import { profileOf, PROFILES, type ProfileName, withProfile } from './profiles.ts'
import { givenStore } from './store-choice.ts'
import { createProcessOwner, createSidecar } from './sidecar.ts'
import { traceWherePresent } from './tracing.ts'

export interface CreateHostOptions extends BundledLayerOptions, LayerFolders, PlaceOptions {
  /** The folder that tools work on. It contains the project layer. */
  readonly workspace: string
  /** The folder of the global layer. Default: `.bulkhead` in the home directory. */
  readonly home?: string
  /**
   * The specification whose defaults apply, below every configuration file and option. It lowers no wall, no deny and
   * no protected place. Default: none.
   */
  readonly profile?: ProfileName
  /**
   * Trust decision for the project layer, whatever it contains. Default: at every load, the stored decision for the
   * current content applies. If there is none, the interactor is asked. Without an interactor, the layer is declined.
   */
  readonly trust?: ProjectTrust
  /** An additional check for a new generation before it replaces the running one. */
  readonly smokeCheck?: SmokeCheck
  /**
   * Stores state, approvals, paused calls and the audit. Closed with the host. A string is the URL of a PostgreSQL server,
   * postgres://USER@HOST/DATABASE, that any number of hosts share. Default: the server that BULKHEAD_STORE or `store.url`
   * of the configuration names, or else an in-memory store.
   */
  readonly store?: Store | string
  /** Source of declared environment variables. Default: the environment of this process. */
  readonly env?: Readonly<Record<string, string | undefined>>
  /**
   * When to connect to MCP servers whose tools are not known yet: with the first session, or only by `mcp.connect`.
   * Known servers are connected when one of their tools is called. Default: first-session.
   */
  readonly discover?: 'first-session' | 'when-asked'
  /** Agents that `openSession` knows by name, besides those in `agents` of the layers, which they hide. */
  readonly agents?: readonly AgentInput[]
  /** The passkeys that rules may demand. Default: those of the home (`bulkhead passkey`). */
  readonly passkeys?: readonly Passkey[]
  /** Hooks of every session, before those of the session itself. */
  readonly hooks?: Hooks | readonly Hooks[]
}

/** A host with its layers, servers and bundled tools. */
export interface Host extends Omit<CoreHost, 'inside' | 'register' | 'unregister' | 'switchWorkspace' | 'callableTools' | 'delegate' | 'close'>,
  Pick<BundledLayer, 'offeredTools'> {
  /**
   * Text for the system prompt: how to use the tools of the session, its agents, its skills, and kits. A malformed file
   * of the user is left out with a diagnostic. Rejects with ConfigInvalid.
   */
  promptSections(session: Session, options?: PromptSectionsOptions): Promise<PromptSections>
  /**
   * Offers functions of your program as tools (`defineTool` with a name), and extensions of a loader of your own. They
   * stay when extensions are reloaded. All or none: rejects with ConfigInvalid, with RegistrationConflict if a name is
   * taken, or with the code of what is wrong with a tool. A fault of a loader's extension becomes a diagnostic instead.
   */
  register(tools: Registrable | readonly Registrable[]): Promise<void>
  /** The same for tools that are written for grida or stud: their contracts are imported as they are. */
  register(tools: ForeignTool | readonly ForeignTool[]): Promise<void>
  /**
   * Takes the name of a tool that was registered, or the id of an extension, of the layer in use unless another is
   * named. Offers again what it hid. It stops after its turns and calls. Resolves with whether there was one.
   */
  unregister(name: string, layer?: Layer): Promise<boolean>
  /**
   * Waits for running calls, cancels the rest, stops extensions in reverse order, then closes the store. Never rejects.
   * Idempotent.
   */
  close(): ReturnType<CoreHost['close']>
  /**
   * Switches to another folder and its project layer. Open sessions stay in their folder. Trust is decided as for the
   * first folder. Rejects with ProjectPathInvalid, and then nothing has changed.
   */
  switchWorkspace(workspace: string, options?: Pick<CreateHostOptions, 'trust'>): Promise<SwitchReport>
  readonly mcp: McpBook
  /** The recorded sessions in the store, see `record` of `openSession` and the configuration. */
  readonly recordings: RecordingBook
  /**
   * Makes the calls of a recorded session again under today's policy, until one is different. They are answered from the
   * record and begin nothing; with `from`, that call and the later ones run. Rejects with NotFound, ConfigInvalid, and as
   * `openSession` does.
   */
  replay(id: string, options?: ReplayOptions): Promise<ReplayReport>
  /** The workers on the store, with what they have and do. Rejects with StoreUnavailable. */
  workers(): Promise<readonly ListedWorker[]>
  /** What servers share that serve this store over HTTP. Absent if the store ends with the host. */
  readonly replicas?: ReplicaRecords
}

export const HOST_OPTIONS: OptionForms<CreateHostOptions> = {
  workspace: forms.text, home: forms.text, trust: forms.oneOf('trusted', 'declined', 'once'), smokeCheck: forms.method,
  store: forms.either(forms.text, forms.having('read', 'write', 'close')), env: forms.object, runAgent: forms.method,
  fetchHosts: forms.list(forms.text), profile: forms.oneOf(...Object.keys(PROFILES)),
  projectFolder: forms.text, bundledFolder: forms.text, machinePolicy: forms.text,
  cache: forms.text, interactor: forms.having('interact'),
  watch: forms.either(forms.flag, forms.method), config: forms.object,
  mcp: forms.fields({ roots: forms.method, sample: forms.method }),
  discover: forms.oneOf('first-session', 'when-asked'), agents: forms.list(forms.object),
  hooks: forms.either(forms.object, forms.list(forms.object)),
  passkeys: PASSKEYS_FORM,
}

const SWITCHED = { trust: HOST_OPTIONS.trust }
const OFFERED = { session: forms.having('tools') }

/**
 * Creates a host: loads and verifies extensions, and runs calls. Rejects with ConfigInvalid for invalid options,
 * AgentInvalid for an invalid agent, and ProjectPathInvalid for a workspace that cannot be opened.
 */
export async function createHost(options: CreateHostOptions): Promise<Host> {
  requireOptions('createHost', options, HOST_OPTIONS, 'workspace')
  const store = await givenStore(options)
  try {
    return (await assembleHost({ ...withProfile(options), store }, options.trust)).host
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
}

/**
 * `createHost` for the command line, which can also trust the current content of a project, and for tests. `withProfile`
 * has completed the options.
 */
export async function assembleHost(
  options: AssemblyOptions, firstTrust: TrustChoice | undefined,
  { startsEager = true, clock = systemClock, roles = () => [], userConfig, ...ofSandbox }: Assembly = {},
): Promise<AssembledHost> {
  const home = homeFolder(options.home)
  const env = options.env ?? process.env
  const { config: defaults, agentsRequire, agentLevels } = profileOf(options.profile)
  const bundled = createBundledLayer(options, agentLevels)
  const learning = learningHere(home, await canonicalPath(options.workspace), process.env)
  const below = learning ? { ...defaults, policy: { ...defaults?.policy, ceiling: LEARNING_CEILING } } : defaults
  const folders = { ...options, ...(userConfig !== undefined && { userConfig }) }
  const loader = createLoader({ ...loaderOptions(home, folders, bundled.extensions), ...(below && { defaults: below }) })
  const operator = operatorEnvironment(env)
  const lookUp = (name: string) => Object.hasOwn(env, name) ? env[name] : undefined
  const closing = new AbortController()
  const projectFolder = options.projectFolder ?? PROJECT_FOLDER
  const uses = new UseListeners()
  const store = options.store ?? createMemoryStore()
  const owner = createProcessOwner()
  const surroundings = {
    variables: env, operator, home, projectFolder, env: lookUp, cacheFolder: cacheFolder(home, options),
    signal: closing.signal, ...ofSandbox, uses, ...(learning && { onUse: learning.onUse }),
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
    userData: userFolder(home),
    env: lookUp,
    ...(options.interactor ? { interactor: options.interactor } : {}),
    ...(options.agents ? { agents: options.agents } : {}),
    ...(options.hooks ? { hooks: options.hooks } : {}),
    ...(options.smokeCheck ? { smokeCheck: options.smokeCheck } : {}),
    ...(agentsRequire && { agentsRequire }),
  })
  const places = new OpenPlaces(host, first)
  if (learning) host.on(learning.onEvent, ['ToolInvocationDecided'])
  const sessionOptions = <Options extends SessionOptions>(given: Options): Options => learning ? learningSession(given) : given
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
      return host.resumeSession(id, sessionOptions(await inCanonicalFolder(session)))
    },
    async openSession(session = {}) {
      if (options.discover !== 'when-asked') await places.servers.discover()
      return host.openSession(sessionOptions(await inCanonicalFolder(session)))
    },
    ...(store.forgets ? {} : { replicas: replicaRecords(store, owner, first.report.config.merged) }),
    mcp: mcpBook(() => places.servers),
    recordings: openRecordings(store),
    async replay(id, chosen) {
      await host.inside.recorded()
      return replaySession({ core: host, openSession: (session) => whole.openSession(session) }, await whole.recordings.read(id), chosen)
    },
    workers: async () => await store.placements?.workers() ?? [],
    async switchWorkspace(folder, chosen = {}) {
      requireOptions('switchWorkspace', chosen, SWITCHED)
      const switched = await places.switchTo(await enter(folder, chosen.trust))
      await own.registerAgain()
      return switched
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
  const stopTracing = await traceWherePresent(whole)
  inspectable.set(whole, { core: host, places, store, uses, id: owner.id, home: options.home, passkeys })
  return { host: whole, place: first }
}

/** Methods of the core that nothing is added to. */
const AS_THEY_ARE = [
  'tools', 'tool', 'agents', 'agent', 'extensions', 'tryWalls', 'clear', 'reload', 'runWorkflow', 'pausedCalls',
  'forgetPaused', 'interruptedCalls', 'hosts', 'freeze', 'thaw', 'flush', 'on', 'metrics', 'loopLag',
] as const satisfies readonly (keyof CoreHost)[]

const boundMethods = <Name extends keyof CoreHost>(host: CoreHost, names: readonly Name[]): Pick<CoreHost, Name> =>
  Object.fromEntries(names.map((name) => [name, (host[name] as () => unknown).bind(host)])) as Pick<CoreHost, Name>
