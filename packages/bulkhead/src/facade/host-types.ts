import type { ReplicaRecords } from '@bulkhead/bridges/mcp'
import type { AgentInput, Layer, ListedWorker, Passkey, ProjectTrust, Store } from '@bulkhead/contract'
import type { Host as CoreHost, Hooks, RecordingBook, Session, SmokeCheck, SwitchReport } from '@bulkhead/host'
import { forms, type OptionForms } from '@bulkhead/kit/options'
import type { PromptSections } from '@bulkhead/tools-bundled'
import type { BundledLayer, BundledLayerOptions } from './bundled-layer.ts'
import type { LayerFolders } from './loader-options.ts'
import type { McpBook } from './mcp-book.ts'
import type { PlaceOptions } from './open-place.ts'
import type { ForeignTool, Registrable } from './own-tools.ts'
import { PASSKEYS_FORM } from './passkeys/passkey-ring.ts'
import { PROFILES, type ProfileName } from './profiles.ts'
import type { ReplayOptions, ReplayReport } from './replay/replay-session.ts'
import type { PromptSectionsOptions } from './session-prompts.ts'

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
  /**
   * Logs in to the PostgreSQL server as the role of this tenant (`bulkhead store tenant add`), so the host has the records
   * of this tenant only. `{user-data}` and sign-ins of servers are its own, too. Default: what the URL says.
   */
  readonly tenant?: string
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

/** What one tenant has of its own. It counts when `forTenant` opens the host. */
export interface TenantOptions extends Partial<Pick<
  CreateHostOptions, 'workspace' | 'env' | 'config' | 'trust' | 'interactor' | 'agents' | 'hooks' | 'passkeys' | 'mcp'
>> {
  /** Called with the host before its first session, to register tools and listeners. */
  readonly onOpen?: (host: Host) => void | Promise<void>
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
  /**
   * The host of one tenant: with the options of this host, except `trust` and the secrets in `env`, and with `options`
   * above them. It works in the folder of that name in the workspace, unless another is named. Its connections and
   * memory are freed when it had no open session for a while, so call this for each session and do not keep the host.
   * Rejects as `createHost` does, and with ConfigInvalid where the store is not one in PostgreSQL that this host opened.
   */
  forTenant(id: string, options?: TenantOptions): Promise<Host>
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
  passkeys: PASSKEYS_FORM, tenant: forms.text,
}

const { workspace, env, config, trust, interactor, agents, hooks, passkeys, mcp } = HOST_OPTIONS
export const TENANT_OPTIONS: OptionForms<TenantOptions> = {
  workspace, env, config, trust, interactor, agents, hooks, passkeys, mcp, onOpen: forms.method,
}
