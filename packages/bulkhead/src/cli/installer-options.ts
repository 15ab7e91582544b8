import { realpathSync } from 'node:fs'
import { BulkheadError } from '@bulkhead/contract'
import { createLoader, Installer, type LoaderOptions, type RegistryOptions } from '@bulkhead/loader'
import { homeFolder } from '../facade/folders.ts'
import { workspaceError } from '../facade/workspace-error.ts'
import { loaderOptions } from '../facade/loader-options.ts'
import { ProjectConsent } from '../facade/project-trust.ts'
import { type HostValues, terminal } from './host-options.ts'
import { createProgress, type Progress } from './progress.ts'

export const INSTALLER_OPTIONS = {
  'project': { type: 'boolean' },
  'registry': { type: 'string' },
} as const

export const INSTALLER_DETAILS = `  --project         use the project layer instead of the global layer
  --registry URL    registry to fetch packages from (default: BULKHEAD_REGISTRY, else npm_config_registry);
                    BULKHEAD_REGISTRY_TOKEN is sent to it if set`

export interface InstallerValues extends HostValues {
  readonly project?: boolean | undefined
  readonly registry?: string | undefined
}

/** Installing into a project reads its layer, so the project must be trusted. */
export async function openInstaller(values: InstallerValues): Promise<{ readonly installer: Installer; readonly progress: Progress }> {
  const workspace = workspaceFolder(values.workspace)
  const loader = loaderOptions(homeFolder(values.home))
  const layer = values.project ? 'project' as const : 'global' as const
  if (layer === 'project' && !values['trust-project'] && !await isTrusted(loader, workspace)) {
    throw new BulkheadError('ProjectTrustRequired', `${workspace} has its own tools or settings and is not trusted. Nothing was read or written.`)
  }
  const progress = createProgress('fetching')
  const registry = registryOf(values.registry, progress)
  return { installer: new Installer({ loader, layer, workspace, cwd: process.cwd(), ...(registry && { registry }) }), progress }
}

async function isTrusted(loader: LoaderOptions, workspace: string): Promise<boolean> {
  const { trust } = await new ProjectConsent({ loader: createLoader(loader), workspace, interactor: terminal() }).decide()
  return trust !== 'declined'
}

function registryOf(given: string | undefined, progress: Progress): RegistryOptions | undefined {
  const { BULKHEAD_REGISTRY, npm_config_registry, BULKHEAD_REGISTRY_TOKEN: token } = process.env
  const url = given ?? (BULKHEAD_REGISTRY || npm_config_registry)
  return url === undefined ? undefined : { url, onProgress: progress.report, ...(token && { token }) }
}

/** The real path of the workspace. Throws ProjectPathInvalid. */
export function workspaceFolder(given: string | undefined): string {
  const path = given ?? process.cwd()
  try {
    return realpathSync(path)
  } catch (error) {
    throw workspaceError(path, error)
  }
}
