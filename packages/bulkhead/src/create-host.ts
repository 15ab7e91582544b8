import { realpath } from 'node:fs/promises'
import { BulkheadError, messageOf, type ConfigFile, type Interactor, type ProjectTrust, type Store } from '@bulkhead/contract'
import { createHost as createHostCore, type Host } from '@bulkhead/host'
import { createSandbox } from '@bulkhead/sandbox'
import { createMemoryStore } from '@bulkhead/store'
import { globalRoot, openLoader, type LoaderPlaces } from './project-loader.ts'
import { decideTrust } from './project-trust.ts'
import { createSidecar } from './sidecar.ts'

export interface CreateHostOptions extends LoaderPlaces {
  /** The folder the tools work on, and the place of the project layer. */
  readonly workspace: string
  /** Whether the project layer may be read. Default: what was said before, else the interactor is asked; without one it is declined. */
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
  const env = options.env ?? process.env
  const loader = openLoader(options)
  const { diagnostics, ...trust } = options.trust === undefined
    ? await decideTrust(loader, workspace, options.interactor) : { trust: options.trust, diagnostics: [] }
  const loaded = await loader.load({ workspace, ...trust, ...(options.config ? { overrides: options.config } : {}) })
  const report = { ...loaded, diagnostics: [...diagnostics, ...loaded.diagnostics] }
  const sandbox = createSandbox({ workspace })
  const store = options.store ?? createMemoryStore()
  const host = createHostCore({
    report, sandbox, store, workspace,
    sidecar: createSidecar(),
    userData: globalRoot(options),
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
