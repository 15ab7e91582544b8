import { realpath } from 'node:fs/promises'
import { BulkheadError, messageOf, type ConfigFile, type Interactor, type ProjectTrust, type Sandbox, type Store } from '@bulkhead/contract'
import {
  createHost as createHostCore, type Host as CoreHost, type Place, type SmokeCheck, type SwitchReport,
} from '@bulkhead/host'
import { createLoader } from '@bulkhead/loader'
import { createSandbox } from '@bulkhead/sandbox'
import { createMemoryStore } from '@bulkhead/store'
import { createBundledLayer, type BundledLayer, type BundledLayerOptions } from './bundled-layer.ts'
import { homeFolder, loaderOptions } from './loader-options.ts'
import { openProject } from './project-trust.ts'
import { createSidecar } from './sidecar.ts'
import { traceWherePresent } from './tracing.ts'

export interface CreateHostOptions extends BundledLayerOptions {
  /** The folder the tools work on, and the place of the project layer. */
  readonly workspace: string
  /** The folder of the global layer. Default: `.bulkhead` in the home directory. */
  readonly home?: string
  /** Name of the project layer's folder in the workspace. Default: `.bulkhead`. */
  readonly projectFolder?: string
  /** Whether the project layer may be read. Default: what was said before, else the interactor is asked; without one it is declined. */
  readonly trust?: ProjectTrust
  /** Whom to ask about trust, and what an extension asks that starts without a call. Sessions name their own. */
  readonly interactor?: Interactor
  /** true: files of the layers are watched, and the host reloads when they change. Or who calls back then; returns its disposer. */
  readonly watch?: true | ((onChange: () => void) => () => void)
  /** What a new generation must pass besides starting, before it takes over from one that runs. */
  readonly smokeCheck?: SmokeCheck
  /** Where state and project approvals are kept. Closed with the host. Default: one that forgets. */
  readonly store?: Store
  /** Goes over every configuration file. */
  readonly config?: ConfigFile
  /** Where declared environment variables are looked up. Default: the environment of this process. */
  readonly env?: Readonly<Record<string, string | undefined>>
}

/** The host with what only the whole knows. */
export interface Host extends Omit<CoreHost, 'switchWorkspace'>, Pick<BundledLayer, 'offeredTools'> {
  /**
   * From here on the host works in another folder, with the layer of that project. Sessions that are open stay in theirs.
   * Rejects with ProjectPathInvalid, and then nothing has changed. Trust is decided as for the first folder.
   */
  switchWorkspace(workspace: string, options?: Pick<CreateHostOptions, 'trust'>): Promise<SwitchReport>
}

/** Everything wired: finds and proves extensions, and answers calls. Rejects only for a workspace that cannot be opened. */
export async function createHost(options: CreateHostOptions): Promise<Host> {
  const home = homeFolder(options.home)
  const env = options.env ?? process.env
  const bundled = createBundledLayer(options, home)
  const loader = createLoader(loaderOptions(home, options.projectFolder, bundled.extensions))
  const sandboxes = new Set<Sandbox>()
  const openPlace = async (folder: string, decided: ProjectTrust | undefined): Promise<Place> => {
    const workspace = await canonicalFolder(folder)
    const project = await openProject(loader, { workspace, decided, interactor: options.interactor, overrides: options.config })
    const report = await project.load()
    const sandbox = createSandbox({ workspace, ...report.config.merged.sandbox })
    sandboxes.add(sandbox)
    const watch = options.watch === true ? project.watch : options.watch
    return { workspace, report, sandbox, source: { load: project.load, ...(watch ? { watch } : {}) } }
  }
  const place = await openPlace(options.workspace, options.trust)
  let { sandbox } = place
  const store = options.store ?? createMemoryStore()
  const host = createHostCore({
    ...place, store,
    sidecar: createSidecar(),
    userData: home,
    env: (name) => Object.hasOwn(env, name) ? env[name] : undefined,
    ...(options.interactor ? { interactor: options.interactor } : {}),
    ...(options.smokeCheck ? { smokeCheck: options.smokeCheck } : {}),
  })
  bundled.attach(host)
  const stopTracing = await traceWherePresent(host)
  return {
    offeredTools: (session) => bundled.offeredTools(session),
    tools: () => host.tools(),
    tool: (name) => host.tool(name),
    extensions: () => host.extensions(),
    get diagnostics() {
      return host.diagnostics
    },
    register: (extensions) => host.register(extensions),
    unregister: (id, layer) => host.unregister(id, layer),
    clear: () => host.clear(),
    reload: (request) => host.reload(request),
    openSession: (session) => host.openSession(session),
    runWorkflow: (limits, work) => host.runWorkflow(limits, work),
    pausedCalls: () => host.pausedCalls(),
    forgetPaused: (id) => host.forgetPaused(id),
    interruptedCalls: () => host.interruptedCalls(),
    flush: () => host.flush(),
    on: (listener) => host.on(listener),
    metrics: () => host.metrics(),
    async switchWorkspace(folder, { trust } = {}) {
      const next = await openPlace(folder, trust)
      const left = sandbox
      const switched = await host.switchWorkspace(next).catch(async (refused: unknown) => {
        await next.sandbox.close()
        throw refused
      })
      sandbox = next.sandbox
      const unloaded = switched.unloaded.finally(() => {
        sandboxes.delete(left)
        return left.close()
      })
      return { ...switched, unloaded }
    },
    async close() {
      const closed = await host.close()
      stopTracing()
      await Promise.all([...sandboxes].map((open) => open.close()))
      await store.close()
      return closed
    },
  }
}

async function canonicalFolder(path: string): Promise<string> {
  try {
    return await realpath(path)
  } catch (error) {
    throw new BulkheadError('ProjectPathInvalid', `The workspace "${path}" cannot be opened: ${messageOf(error)}`, { cause: error })
  }
}
