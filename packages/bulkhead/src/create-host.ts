import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { realpath } from 'node:fs/promises'
import { BulkheadError, messageOf, type ConfigFile, type Interactor, type ProjectTrust, type Store } from '@bulkhead/contract'
import { createHost as createHostCore, type Host } from '@bulkhead/host'
import { createLoader } from '@bulkhead/loader'
import { createSandbox } from '@bulkhead/sandbox'
import { createMemoryStore } from '@bulkhead/store'
import { createBundledExtensions } from '@bulkhead/tools-bundled'
import { decideTrust } from './project-trust.ts'
import { createSidecar } from './sidecar.ts'
import { traceWherePresent } from './tracing.ts'
import { CORE_VERSION } from './version.ts'

export interface CreateHostOptions {
  /** The folder the tools work on, and the place of the project layer. */
  readonly workspace: string
  /** The folder of the global layer. Default: `.bulkhead` in the home directory. */
  readonly home?: string
  /** Name of the project layer's folder in the workspace. Default: `.bulkhead`. */
  readonly projectFolder?: string
  /** Whether the project layer may be read. Default: the interactor is asked; without one it is declined. */
  readonly trust?: ProjectTrust
  /** Whom to ask about trust. Sessions name their own. */
  readonly interactor?: Interactor
  /** Where state and project approvals are kept. Closed with the host. Default: one that forgets. */
  readonly store?: Store
  /** Goes over every configuration file. */
  readonly config?: ConfigFile
  /** Where declared environment variables are looked up. Default: the environment of this process. */
  readonly env?: Readonly<Record<string, string | undefined>>
}

/** Everything wired: finds and proves extensions, and answers calls. Rejects only for a workspace that cannot be opened. */
export async function createHost(options: CreateHostOptions): Promise<Host> {
  const workspace = await canonicalFolder(options.workspace)
  const home = resolve(options.home ?? join(homedir(), '.bulkhead'))
  const env = options.env ?? process.env
  const loader = createLoader({
    coreVersion: CORE_VERSION,
    roots: { global: home, projectFolder: options.projectFolder ?? '.bulkhead' },
    bundled: createBundledExtensions(),
  })
  const trust = options.trust ?? await decideTrust(loader, workspace, options.interactor)
  const report = await loader.load({ workspace, trust, ...(options.config ? { overrides: options.config } : {}) })
  const sandbox = createSandbox({ workspace, ...report.config.merged.sandbox })
  const store = options.store ?? createMemoryStore()
  const host = createHostCore({
    report, sandbox, store, workspace,
    sidecar: createSidecar(),
    userData: home,
    env: (name) => Object.hasOwn(env, name) ? env[name] : undefined,
  })
  const stopTracing = await traceWherePresent(host)
  return {
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
    switchWorkspace: (place) => host.switchWorkspace(place),
    openSession: (session) => host.openSession(session),
    runWorkflow: (limits, work) => host.runWorkflow(limits, work),
    pausedCalls: () => host.pausedCalls(),
    forgetPaused: (id) => host.forgetPaused(id),
    interruptedCalls: () => host.interruptedCalls(),
    flush: () => host.flush(),
    on: (listener) => host.on(listener),
    metrics: () => host.metrics(),
    async close() {
      const closed = await host.close()
      stopTracing()
      await sandbox.close()
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
