import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { ConfigFile, Diagnostic, Loader, LoadReport, ProjectTrust } from '@bulkhead/contract'
import type { Bench } from './verify.ts'

/** What a loader is made for. */
export interface LoaderPlace {
  /** The folder of the global layer: its packages are in `tools`, its configuration is `config.json`. */
  readonly home: string
  /** The version of the host that `requiredCoreVersion` is compared with. */
  readonly coreVersion: string
}

export interface LoaderTarget {
  /** A new loader, as after a restart. The project layer of a workspace is its folder `.bulkhead`. */
  readonly create: (place: LoaderPlace) => Loader | Promise<Loader>
}

export interface LoaderBench {
  readonly home: string
  readonly workspace: string
  /** The folder of the project layer. It does not exist at first. */
  readonly project: string
  /** A new loader over these folders. */
  start(): Promise<Loader>
  load(trust?: ProjectTrust, overrides?: ConfigFile): Promise<LoadReport>
}

const CORE_VERSION = '1.2.3'

/** Empty folders for a loader. */
export async function loaderBench({ create }: LoaderTarget, { folder }: Bench): Promise<LoaderBench> {
  const home = join(folder, 'home')
  const workspace = join(folder, 'work')
  await mkdir(home)
  await mkdir(workspace)
  const start = async (): Promise<Loader> => create({ home, coreVersion: CORE_VERSION })
  return {
    home, workspace, project: join(workspace, '.bulkhead'), start,
    load: async (trust = 'trusted', overrides) =>
      (await start()).load({ workspace, trust, projectDigest: 'any', ...(overrides && { overrides }) }),
  }
}

/** The extensions of a report, as `layer:id`. */
export const loadedIn = ({ extensions }: Pick<LoadReport, 'extensions'>): readonly string[] =>
  extensions.map(({ layer, id }) => `${layer}:${id}`)

/** What was said about an extension. */
export const diagnosticsOn = ({ diagnostics }: LoadReport, id: string): readonly Diagnostic[] =>
  diagnostics.filter(({ extensionId }) => extensionId === id)

export const LOADER_SPEC = 'docs/guides/packages.md'
