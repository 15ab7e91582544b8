import type { McpEmbedder } from '@bulkhead/bridges/mcp'
import { existsSync, lstatSync, realpathSync, statSync } from 'node:fs'
import { basename, dirname, join, sep } from 'node:path'
import type {
  CapabilityUse, ConfigFile, Interactor, LanguageServers, Loader, LoadReport, Placements, ProjectDecision,
  ProjectTrust,
  ResolvedConfig,
  SkillDescriptor,
} from '@bulkhead/contract'
import { namesIn } from '@bulkhead/kit/folders'
import { IgnoreFiles } from '@bulkhead/loader'
import type { FoundRoot, Host, Place, SwitchReport } from '@bulkhead/host'
import type { CompartmentFailure, Inspection, OperatorEnvironment } from '@bulkhead/sandbox'
import { commandEnvironment, shownVariables, type Variables } from './command-environment.ts'
import { ConnectedServers } from './connected-servers.ts'
import { countFiles } from './count-files.ts'
import { fileStart } from './file-start.ts'
import { changesFolder, keptFolders, ownCode } from './folders.ts'
import { lateJail, lateSandbox, loadLateCode } from './late-sandbox.ts'
import { canonicalFolder, userFolder, userSkills } from './loader-options.ts'
import { otherLayersIn, unreadLayers } from './other-layers.ts'
import { ProjectConsent, type TrustOutcome } from './project-trust.ts'
import { withWorkers } from './workers.ts'

export interface PlaceOptions {
  /** Answers questions about trust, and of extensions that start without a call. Sessions have their own interactor. */
  readonly interactor?: Interactor
  /**
   * Whether the host reloads when files of its layers change. A function replaces the file watcher: it receives the
   * callback and returns a disposer.
   */
  readonly watch?: boolean | ((onChange: () => void) => () => void)
  /** Overrides all configuration files. */
  readonly config?: ConfigFile
  /** What MCP servers get from you: roots for remote ones, and answers of your model. Default: neither. */
  readonly mcp?: McpEmbedder
}

export interface PlaceSurroundings {
  /** Of this process, or as the embedder gave them. */
  readonly variables: Variables
  readonly operator: OperatorEnvironment
  readonly home: string
  /** Whose data and sign-ins these are. undefined: of the user. */
  readonly tenant?: string | undefined
  /** Name of the project layer's folder. */
  readonly projectFolder: string
  readonly env: (name: string) => string | undefined
  /** Cache for verification results and tool lists. */
  readonly cacheFolder: string
  /** The files of the store, canonical. */
  readonly storeFiles: readonly string[]
  /** The calls on workers, if the store has them. */
  readonly placements?: Placements | undefined
  /** Aborted when the host closes. */
  readonly signal: AbortSignal
  /** Called after each use of a power. */
  readonly onUse?: ((use: CapabilityUse) => void) | undefined
  /** Called for each error that the code of an extension threw. */
  readonly onFailure?: ((failure: CompartmentFailure) => void) | undefined
  /** Opens debuggers for extensions that this process built from a folder. */
  readonly inspect?: Inspection | undefined
  /** Whether the sandbox keeps as many spares as it is configured to. Otherwise none. Default: true. */
  readonly keepsSpares?: boolean
}

export interface OpenPlace extends Place {
  readonly servers: ConnectedServers
  /** Of the last load. */
  readonly skills: () => readonly SkillDescriptor[]
}

/** A decision of the embedder for any content, or `as found`: consent to the content at startup. */
export type TrustChoice = ProjectTrust | 'as found'

/** Loads one workspace and prepares its sandbox. Rejects with ProjectPathInvalid. */
export async function openPlace(
  loader: Loader, folder: string, choice: TrustChoice | undefined, options: PlaceOptions & PlaceSurroundings,
): Promise<OpenPlace> {
  const { interactor, watch, config, mcp, variables, operator, home, tenant, projectFolder, env, signal, onUse } = options
  const { cacheFolder: cache, storeFiles, placements, onFailure, inspect, keepsSpares = true } = options
  const workspace = await canonicalFolder(folder)
  const projectLayer = join(workspace, projectFolder)
  const otherLayers = otherLayersIn(workspace, projectFolder)
  const userData = userFolder(home, tenant)
  const journal = changesFolder(home)
  const ignoreFiles = new IgnoreFiles()
  await finishChanges(journal)
  const special = Promise.all([keptFolders(home), ownCode()])
  special.catch(() => undefined)
  const servers = new ConnectedServers({
    loader, workspace, operator, env, home, tenant, cache, embedder: mcp, userData,
    ignored: (roots) => ignoreFiles.of(roots),
    jail: lateJail(async () => {
      const [{ createServerJail }, [kept, code]] = await Promise.all([import('@bulkhead/sandbox'), special])
      return createServerJail({
        kept, ownCode: [...code, userSkills(kept[0]), ...otherLayers], projectLayer, storeFiles,
        home: operator.env['HOME'],
      })
    }),
  })
  const consent = new ProjectConsent({ loader, workspace, interactor, signal, asFound: choice === 'as found' })
  const decide = async (): Promise<TrustOutcome> =>
    choice === undefined || choice === 'as found'
      ? consent.decide()
      : { trust: choice, projectDigest: 'any', diagnostics: [] }
  const watcher = new LayerWatcher(loader, workspace)
  let skills: readonly SkillDescriptor[] = []
  const load = async (): Promise<LoadReport> => {
    const { diagnostics, trust, projectDigest } = await decide()
    watcher.follow({ trust, projectDigest })
    const found = await loader.load({ workspace, trust, projectDigest, ...(config ? { overrides: config } : {}) })
    skills = found.skills ?? []
    const unread = unreadLayers(otherLayers, projectFolder)
    return servers.beside({ ...found, diagnostics: [...diagnostics, ...unread, ...found.diagnostics] })
  }
  const report = await load()
  const watching = watch === true ? (onChange: () => void) => watcher.start(onChange) : watch || undefined
  const [kept, code] = await special
  const readOnly = [...code, userSkills(kept[0]), ...otherLayers]
  const { commands, sandbox } = report.config.merged
  const ofCommands = commandEnvironment(variables, commands)
  return {
    workspace, report, servers, skills: () => skills,
    neverWritten: [projectLayer, ...readOnly, ...storeFiles],
    realPath: realPathOf,
    readStart: (path) => fileStart(workspace, path),
    ignored: (roots) => ignoreFiles.of(roots),
    countFiles,
    findRoot: (path) => findRoot(path, kept, projectFolder),
    commandVariables: shownVariables(ofCommands, commands),
    watchServers: (...listeners) => servers.watch(...listeners),
    sandbox: withWorkers(lateSandbox(async () => {
      const { createSandbox } = await import('@bulkhead/sandbox')
      return createSandbox({
        workspace, cache, operator: ofCommands, kept, ownCode: readOnly, projectLayer, storeFiles, journal, ...sandbox,
        ...(onUse && { onUse }), ...(onFailure && { onFailure }), ...(inspect && { inspect }),
        ...(!keepsSpares && { spares: { process: 0, thread: 0 } }),
      })
    }, () => loadLateCode(servers)), { placements, home, variables: { 'workspace': [workspace], 'user-data': [userData] } }),
    source: { load, ...(watching ? { watch: watching } : {}) },
  }
}

/** Finishes what hosts that were killed had begun to write. The code for it is loaded only if there is anything. */
async function finishChanges(journal: string): Promise<void> {
  if (namesIn(journal).length === 0) return
  const { recoverUpdates } = await import('@bulkhead/sandbox')
  await recoverUpdates(journal)
}

/** Resolves links in the existing part of a path. Throws if it cannot be read. */
function realPathOf(path: string): string {
  try {
    return realpathSync.native(path)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    // A dangling link cannot be resolved: a write would create its target.
    const isLink = () => lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true
    if (code !== 'ENOENT' || dirname(path) === path || isLink()) throw error
    return join(realPathOf(dirname(path)), basename(path))
  }
}

/** A folder or file that a session wants beside the workspace. Throws if it does not exist or is in one of `kept`. */
function findRoot(given: string, kept: readonly string[], projectFolder: string): FoundRoot {
  if (!existsSync(given)) throw new Error('it does not exist')
  const path = realpathSync.native(given)
  const owner = kept.find((folder) => path === folder || path.startsWith(folder + sep))
  if (owner !== undefined) throw new Error(`it is in "${owner}", which belongs to the host`)
  const neverWritten = [join(path, projectFolder), ...otherLayersIn(path, projectFolder)]
  return { path, isFolder: statSync(path).isDirectory(), neverWritten }
}

/** Watches the project layer only as far as the trust decision allows. */
class LayerWatcher {
  readonly #loader: Pick<Loader, 'watch'>
  readonly #workspace: string
  /** The last decision that allowed reading the layer. */
  #decision: ProjectDecision | undefined
  #onChange: (() => void) | undefined
  #stop: (() => void) | undefined

  constructor(loader: Pick<Loader, 'watch'>, workspace: string) {
    this.#loader = loader
    this.#workspace = workspace
  }

  start(onChange: () => void): () => void {
    this.#onChange = onChange
    this.#begin()
    return () => {
      this.#onChange = undefined
      this.#stop?.()
    }
  }

  /** A trusted layer that has changed stays watched, to detect a return to the trusted content. */
  follow(decision: ProjectDecision): void {
    if (decision.trust === 'declined' || decision.projectDigest === this.#decision?.projectDigest) return
    this.#decision = decision
    if (this.#onChange) this.#begin()
  }

  #begin(): void {
    this.#stop?.()
    const decision = this.#decision ?? { trust: 'declined', projectDigest: 'any' }
    this.#stop = this.#onChange && this.#loader.watch({ workspace: this.#workspace, ...decision }, this.#onChange)
  }
}

/** The current folder of a host, and earlier folders that still have open sessions. */
export class OpenPlaces {
  readonly #host: Host
  readonly #open: Set<OpenPlace>
  #current: OpenPlace

  constructor(host: Host, first: OpenPlace) {
    this.#host = host
    this.#open = new Set([first])
    this.#current = first
    this.#attach()
  }

  get servers(): OpenPlace['servers'] {
    return this.#current.servers
  }

  get workspace(): string {
    return this.#current.workspace
  }

  get sandbox(): OpenPlace['sandbox'] {
    return this.#current.sandbox
  }

  /** The language servers of an open folder, or of another root of its sessions. */
  languageServers(workspace: string, root?: string): Promise<LanguageServers> | undefined {
    return [...this.#open].findLast((place) => place.workspace === workspace)?.servers.languages(root)
  }

  skills(workspace: string): readonly SkillDescriptor[] {
    return [...this.#open].findLast((place) => place.workspace === workspace)?.skills() ?? []
  }

  get config(): ResolvedConfig {
    return this.#current.report.config
  }

  async switchTo(next: OpenPlace): Promise<SwitchReport> {
    this.#open.add(next)
    const left = this.#current
    const switched = await this.#host.switchWorkspace(next).catch(async (refused: unknown) => {
      await this.#leave(next)
      throw refused
    })
    left.servers.attach(undefined)
    this.#current = next
    this.#attach()
    return { ...switched, unloaded: switched.unloaded.finally(() => this.#leave(left)) }
  }

  async close(): Promise<void> {
    await Promise.all([...this.#open].map((place) => this.#leave(place)))
  }

  #attach(): void {
    this.#current.servers.attach((report) => this.#host.reload({ report }))
  }

  async #leave(place: OpenPlace): Promise<void> {
    this.#open.delete(place)
    await Promise.all([place.sandbox.close(), place.servers.close()])
  }
}
