import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { realpath } from 'node:fs/promises'
import { BulkheadError, messageOf, type ConfigFile, type Interactor, type ProjectTrust, type Store } from '@bulkhead/contract'
import { createHost as createHostCore, type Host } from '@bulkhead/host'
import { createLoader } from '@bulkhead/loader'
import { createSandbox } from '@bulkhead/sandbox'
import { createMemoryStore } from '@bulkhead/store'
import { argumentsReaders, bundledExtensions } from '@bulkhead/tools-bundled'
import { operatorSurroundings } from './operator-surroundings.ts'
import { decideTrust } from './project-trust.ts'
import { createSidecar } from './sidecar.ts'
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
    bundled: bundledExtensions,
  })
  const trust = options.trust ?? await decideTrust(loader, workspace, options.interactor)
  const report = await loader.load({ workspace, trust, ...(options.config ? { overrides: options.config } : {}) })
  const sandbox = createSandbox({ workspace, operator: operatorSurroundings(env) })
  const store = options.store ?? createMemoryStore()
  const host = createHostCore({
    report, sandbox, store, workspace, argumentsReaders,
    sidecar: createSidecar(),
    userData: home,
    env: (name) => Object.hasOwn(env, name) ? env[name] : undefined,
  })
  return {
    tools: () => host.tools(),
    diagnostics: host.diagnostics,
    openSession: (session) => host.openSession(session),
    on: (listener) => host.on(listener),
    async close() {
      const closed = await host.close()
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
