import type { Interactor } from '@bulkhead/contract'
import { visibleText } from '@bulkhead/kit/text'
import {
  createLoader, readNpmConfig, type InstallerOptions, type LoaderOptions, type NpmConfig, type RegistryOptions,
} from '@bulkhead/loader'
import { homeFolder, personFolder } from '../facade/folders.ts'
import { loaderOptions } from '../facade/loader-options.ts'
import { ProjectConsent } from '../facade/project-trust.ts'
import type { CommandOptions } from './command.ts'
import type { HostValues } from './host-options.ts'

export const REGISTRY_OPTION = {
  registry: {
    type: 'string', value: 'URL',
    text: `registry for all packages; BULKHEAD_REGISTRY_TOKEN is sent to it if set
(default: BULKHEAD_REGISTRY, else the registries in npm's configuration)`,
  },
} as const satisfies CommandOptions

/** A project whose `.npmrc` may count. */
interface NpmProject {
  readonly workspace: string
  readonly isTrusted: () => Promise<boolean>
}

/** `isDecided`: the layer of the project is trusted. A project without a layer was never trusted. */
export function npmProject(workspace: string, values: HostValues, isDecided = false): NpmProject {
  const loader = loaderOptions(homeFolder(values.home))
  return {
    workspace,
    isTrusted: async () => values['trust-project'] === true || (await createLoader(loader).hasProjectLayer(workspace)
      && (isDecided || await isTrusted(loader, workspace))),
  }
}

export async function isTrusted(loader: LoaderOptions, workspace: string, interactor?: Interactor): Promise<boolean> {
  const consent = new ProjectConsent({ loader: createLoader(loader), workspace, interactor })
  const { trust } = await consent.decide()
  return trust !== 'declined'
}

/**
 * Where packages come from. A registry that is named for Bulkhead is used for every package, and then npm's
 * configuration is not read. Otherwise it is read when the first package is needed.
 */
export function chooseRegistries(
  given: string | undefined, onProgress: NonNullable<RegistryOptions['onProgress']>, project: NpmProject,
): Pick<InstallerOptions, 'registry' | 'registryFor'> {
  const { BULKHEAD_REGISTRY, BULKHEAD_REGISTRY_TOKEN: token } = process.env
  const url = given ?? (BULKHEAD_REGISTRY || undefined)
  if (url !== undefined) return { registry: { url, onProgress, ...(token && { token }) } }
  let config: Promise<NpmConfig> | undefined
  return {
    async registryFor(name) {
      config ??= readRegistries(project)
      return { ...(await config).registryOf(name), onProgress }
    },
  }
}

/** The registry of one package, for a command that reads it. */
export function registryReader(
  given: string | undefined, project: NpmProject,
): (name: string) => Promise<RegistryOptions> {
  const { registry, registryFor } = chooseRegistries(given, () => undefined, project)
  return async (name) => registry ?? registryFor!(name)
}

/**
 * Where a package goes to: an option, else what package.json names, else BULKHEAD_REGISTRY, else npm's configuration,
 * which also has the credentials.
 */
export async function registryToPublish(
  name: string, given: string | undefined, named: string | null, project: NpmProject,
): Promise<Pick<RegistryOptions, 'url' | 'token' | 'authorization'>> {
  const { BULKHEAD_REGISTRY, BULKHEAD_REGISTRY_TOKEN: token } = process.env
  const url = given ?? (named === null ? BULKHEAD_REGISTRY || undefined : undefined)
  if (url !== undefined && token) return { url, token }
  return (await readRegistries(project)).registryOf(name, url ?? named ?? undefined)
}

const readRegistries = async (project: NpmProject): Promise<NpmConfig> =>
  warned(await readNpmConfig({ ...project, env: npmEnvironment() }))

/** BULKHEAD_REGISTRY_TOKEN belongs to the registry that the environment names, and to no other. */
function npmEnvironment(): NodeJS.ProcessEnv {
  const { npm_config_registry: registry, BULKHEAD_REGISTRY_TOKEN: token } = process.env
  const url = registry && token ? URL.parse(registry.endsWith('/') ? registry : `${registry}/`) : null
  return {
    ...process.env, HOME: personFolder(),
    ...(url && { [`npm_config_//${url.host}${url.pathname}:_authToken`]: token }),
  }
}

function warned(config: NpmConfig): NpmConfig {
  for (const warning of config.warnings) process.stderr.write(`Warning: ${visibleText(warning)}\n`)
  return config
}
