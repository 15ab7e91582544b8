import { realpath } from 'node:fs/promises'
import type { ConfigFile, Interactor, Loader, LoadReport, ProjectTrust } from '@bulkhead/contract'
import type { Place } from '@bulkhead/host'
import type { OperatorSurroundings } from '@bulkhead/sandbox'
import { ConnectedServers } from './connected-servers.ts'
import { keptFolders } from './kept-folders.ts'
import { lateSandbox } from './late-sandbox.ts'
import { decideTrust, type TrustOutcome } from './project-trust.ts'
import { workspaceFault } from './workspace-fault.ts'

export interface PlaceOptions {
  /** Whom to ask about trust, and what an extension asks that starts without a call. Sessions name their own. */
  readonly interactor?: Interactor
  /**
   * Whether the host reloads by itself when files of its layers have changed. A function is told what to call then, in place of
   * looking at the files, and returns its disposer.
   */
  readonly watch?: boolean | ((onChange: () => void) => () => void)
  /** Goes over every configuration file. */
  readonly config?: ConfigFile
}

export interface PlaceSurroundings {
  readonly operator: OperatorSurroundings
  readonly home: string
  readonly env: (name: string) => string | undefined
  /** Where what was heard of others is remembered. */
  readonly cacheFolder: string
  /** Aborted when nobody needs an answer any more. */
  readonly signal: AbortSignal
}

/** A place with the servers that belong to it. */
export interface OpenPlace extends Place {
  readonly servers: ConnectedServers
}

/** One workspace with what was found for it and where it runs. Rejects with ProjectPathInvalid. */
export async function openPlace(
  loader: Loader, folder: string, decided: ProjectTrust | undefined, options: PlaceOptions & PlaceSurroundings,
): Promise<OpenPlace> {
  const { interactor, watch, config, operator, home, env, cacheFolder: cache, signal } = options
  const workspace = await canonicalFolder(folder)
  const servers = new ConnectedServers({ loader, workspace, operator, env, home, cache })
  const decide = async (): Promise<TrustOutcome> =>
    decided === undefined ? decideTrust(loader, workspace, interactor, signal) : { trust: decided, diagnostics: [] }
  let standing = await decide()
  const load = async (): Promise<LoadReport> => {
    const { diagnostics, ...trust } = standing
    const found = await loader.load({ workspace, ...trust, ...(config ? { overrides: config } : {}) })
    return servers.beside({ ...found, diagnostics: [...diagnostics, ...found.diagnostics] })
  }
  const reload = async (): Promise<LoadReport> => {
    // Trust is bound to what there was: what has changed since must be agreed to again.
    if (standing.trust === 'trusted') standing = await decide()
    return load()
  }
  const report = await load()
  const watching = watch === true
    ? (onChange: () => void) => loader.watch({ workspace, trust: standing.trust }, onChange)
    : watch || undefined
  const kept = await keptFolders(home)
  return {
    workspace, report, servers,
    sandbox: lateSandbox(async () => {
      const { createSandbox } = await import('@bulkhead/sandbox')
      return createSandbox({ workspace, operator, kept, ...report.config.merged.sandbox })
    }),
    source: { load: reload, ...(watching ? { watch: watching } : {}) },
  }
}

export async function canonicalFolder(path: string): Promise<string> {
  try {
    return await realpath(path)
  } catch (error) {
    throw workspaceFault(path, error)
  }
}
