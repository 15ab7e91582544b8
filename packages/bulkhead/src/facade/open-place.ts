import { realpath } from 'node:fs/promises'
import { join } from 'node:path'
import type { ConfigFile, Interactor, Loader, LoadReport, ProjectTrust } from '@bulkhead/contract'
import type { Place } from '@bulkhead/host'
import type { OperatorEnvironment } from '@bulkhead/sandbox'
import { ConnectedServers } from './connected-servers.ts'
import { keptFolders } from './kept-folders.ts'
import { loadLateCode } from './late-code.ts'
import { lateSandbox } from './late-sandbox.ts'
import { LayerWatcher } from './layer-watcher.ts'
import { ownCode } from './own-code.ts'
import { ProjectConsent, type TrustOutcome } from './project-trust.ts'
import { realPathOf } from './real-path.ts'
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
  readonly operator: OperatorEnvironment
  readonly home: string
  /** Name of the project layer's folder. */
  readonly projectFolder: string
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

/** A decision of the embedder about whatever the project brings; or, for the command line, consent to what is there at the start. */
export type TrustChoice = ProjectTrust | 'as found'

/** One workspace with what was found for it and where it runs. Rejects with ProjectPathInvalid. */
export async function openPlace(
  loader: Loader, folder: string, choice: TrustChoice | undefined, options: PlaceOptions & PlaceSurroundings,
): Promise<OpenPlace> {
  const { interactor, watch, config, operator, home, projectFolder, env, cacheFolder: cache, signal } = options
  const workspace = await canonicalFolder(folder)
  const servers = new ConnectedServers({ loader, workspace, operator, env, home, cache })
  const consent = new ProjectConsent({ loader, workspace, interactor, signal, asFound: choice === 'as found' })
  const decide = async (): Promise<TrustOutcome> =>
    choice === undefined || choice === 'as found' ? consent.decide() : { trust: choice, projectDigest: 'any', diagnostics: [] }
  const watcher = new LayerWatcher(loader, workspace)
  const load = async (): Promise<LoadReport> => {
    const { diagnostics, trust, projectDigest } = await decide()
    watcher.follow({ trust, projectDigest })
    const found = await loader.load({ workspace, trust, projectDigest, ...(config ? { overrides: config } : {}) })
    return servers.beside({ ...found, diagnostics: [...diagnostics, ...found.diagnostics] })
  }
  const report = await load()
  const watching = watch === true ? (onChange: () => void) => watcher.start(onChange) : watch || undefined
  const [kept, code] = await Promise.all([keptFolders(home), ownCode()])
  const projectLayer = join(workspace, projectFolder)
  return {
    workspace, report, servers,
    neverWritten: [projectLayer, ...code],
    realPath: realPathOf,
    sandbox: lateSandbox(async () => {
      const { createSandbox } = await import('@bulkhead/sandbox')
      return createSandbox({ workspace, operator, kept, ownCode: code, projectLayer, ...report.config.merged.sandbox })
    }, () => loadLateCode(servers)),
    source: { load, ...(watching ? { watch: watching } : {}) },
  }
}

export async function canonicalFolder(path: string): Promise<string> {
  try {
    return await realpath(path)
  } catch (error) {
    throw workspaceFault(path, error)
  }
}
