import { visibleText } from '@bulkhead/kit/text'
import { readNpmConfig, type InstallerOptions, type NpmConfig, type RegistryOptions } from '@bulkhead/loader'
import { personFolder } from '../facade/folders.ts'

/** A project whose `.npmrc` may count. */
interface NpmProject {
  readonly workspace: string
  readonly isTrusted: () => Promise<boolean>
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
