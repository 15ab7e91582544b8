import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import {
  AGENT_TOOL, DEFAULT_LIMITS, PROGRAM_TOOL, type CompartmentLimits, type ConfigFile, type LanguageServers, type Sandbox,
  type SkillDescriptor, type ToolDefinition,
} from '@bulkhead/contract'
import type { AgentRunner, Host as CoreHost, Session } from '@bulkhead/host'
import { PROJECT_FOLDER, skillFoldersOf } from '@bulkhead/loader'
import {
  type BundledExtension, createBundledExtensions, describeTools, ToolShelf,
} from '@bulkhead/tools-bundled'
import type { LayerFolders } from './loader-options.ts'

export interface BundledLayerOptions {
  /** Runs sub-agents for the tool `task`. Without it, `task` fails. */
  readonly runAgent?: AgentRunner
  /** Hosts that `web_fetch` and `http_request` may access, such as `['*', 'localhost:3000']`. Default: every public host. */
  readonly fetchHosts?: readonly string[]
}

type Attached = Pick<CoreHost, 'callableTools' | 'on' | 'delegate'>

export interface BundledLayer {
  readonly extensions: (config: ConfigFile, workspace?: string) => readonly BundledExtension[]
  /** Connects `tool_search` and `task` with the host. */
  attach(host: Attached, places: BundledPlaces): void
  /**
   * The tools to show to the model of a session. With many tools: the bundled ones and those found by `tool_search`. With
   * `codeMode`: only `code_mode`, whose description declares the others.
   */
  offeredTools(session: OfferedSession): readonly ToolDefinition[]
  /** The files of the skills of the user that a session has loaded. Its reading tools may read them. */
  lentFiles(sessionId: string): ReadonlySet<string>
}

/** The open folders, as far as tools use them. */
export interface BundledPlaces {
  /** Where programs run. */
  readonly sandbox: Pick<Sandbox, 'open'>
  /** The language servers of an open folder, or of another root of its sessions. */
  languageServers(workspace: string, root?: string): Promise<LanguageServers> | undefined
  /** The skills of an open folder. */
  skills(workspace: string): readonly SkillDescriptor[]
}

export type OfferedSession = Pick<Session, 'id' | 'tools'> & Partial<Pick<Session, 'codeMode' | 'depth'>>

/** The tools that ship with the host, wired to it. `agentLevels`: how deep sub-agents are offered `task`. */
export function createBundledLayer(
  { runAgent, fetchHosts, projectFolder = PROJECT_FOLDER }: BundledLayerOptions & Pick<LayerFolders, 'projectFolder'>,
  agentLevels = Number.POSITIVE_INFINITY,
): BundledLayer {
  const shelf = new ToolShelf()
  const lentSkills = new LentSkills()
  let attached: Attached | undefined
  let places: BundledPlaces | undefined
  return {
    extensions: (config, workspace) => createBundledExtensions({
      fetchHosts, search: config.search,
      ...(runAgent && { delegate: (task) => attached!.delegate(task, runAgent) }),
      programs: {
        place: (extension) => ({
          open: async (request) => places!.sandbox.open(request), limits: limitsOf(config, extension),
        }),
        functions: (sessionId) => (attached?.callableTools(sessionId) ?? []).filter(({ name }) => name !== PROGRAM_TOOL),
      },
      languageServers: async (root) => workspace === undefined ? undefined : places?.languageServers(workspace, root),
      catalog: {
        tools: (sessionId) => attached?.callableTools(sessionId) ?? [],
        found: (sessionId, names) => shelf.found(sessionId, names),
      },
      skills: {
        folders: skillFoldersOf(config, projectFolder),
        catalog: {
          skills: () => workspace === undefined ? [] : places?.skills(workspace) ?? [],
          read: ({ location }, path) => readFile(join(location, path)),
          loaded: (sessionId, skill) => lentSkills.loaded(sessionId, skill),
        },
      },
    }).filter(({ manifest }) => config.skills?.enabled !== false || manifest.id !== 'skill'),
    attach(host, current) {
      attached = host
      places = current
      host.on((event) => {
        if (event.type !== 'SessionClosed') return
        shelf.forget(event.sessionId)
        lentSkills.forget(event.sessionId)
      }, ['SessionClosed'])
    },
    lentFiles: (sessionId) => lentSkills.files(sessionId),
    offeredTools(session) {
      const tools = (session.depth ?? 0) < agentLevels
        ? session.tools() : session.tools().filter(({ name }) => name !== AGENT_TOOL)
      const program = tools.find(({ name }) => name === PROGRAM_TOOL)
      if (program === undefined) return shelf.offered(session.id, tools)
      const callable = tools.filter((tool) => tool !== program)
      const described = { ...program, description: `${program.description}\n${describeTools(callable)}` }
      return session.codeMode
        ? [described] : shelf.offered(session.id, tools).map((tool) => tool === program ? described : tool)
    },
  }
}

const NONE: ReadonlySet<string> = new Set()

/** The folder of a user's skill belongs to the host, so its files are lent. Those of a project are in the workspace. */
class LentSkills {
  readonly #files = new Map<string, Set<string>>()

  loaded(sessionId: string, { layer, location, files }: SkillDescriptor): void {
    if (layer !== 'global') return
    const lent = this.#files.get(sessionId) ?? new Set()
    for (const path of files.keys()) lent.add(join(location, path))
    this.#files.set(sessionId, lent)
  }

  files(sessionId: string): ReadonlySet<string> {
    return this.#files.get(sessionId) ?? NONE
  }

  forget(sessionId: string): void {
    this.#files.delete(sessionId)
  }
}

/** The limits of the programs of an extension, as the configuration sets them for the extension. */
function limitsOf({ limits = {}, extensions = {} }: ConfigFile, extension: string): CompartmentLimits {
  const own = Object.hasOwn(extensions, extension) ? extensions[extension]?.limits : undefined
  const given = Object.entries({ ...limits, ...own }).filter(([, value]) => value !== undefined)
  return { ...DEFAULT_LIMITS, ...Object.fromEntries(given) }
}
