// oxlint-disable-next-line typescript/triple-slash-reference -- an ambient declaration cannot be imported
/// <reference path="./npmcli-config.d.ts" />
import { realpathSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type Config from '@npmcli/config'
import { BulkheadError } from '@bulkhead/contract'
import { errorCode, messageOf } from '@bulkhead/kit/error-message'
import { isAbsent } from '@bulkhead/kit/folders'
import { visibleText } from '@bulkhead/kit/text'
import { NPMRC_FILE, readProjectNpmrc } from '../trust/project-layer.ts'
import { registryUrl, type RegistryAuthorization, type RegistryOptions } from './registry.ts'

export interface NpmConfigOptions {
  /** `HOME` must be absolute. */
  readonly env: Readonly<Record<string, string | undefined>>
  /** Absolute. Its `.npmrc` counts if the project is trusted. */
  readonly workspace: string
  /** Called only if the workspace has an `.npmrc`. */
  readonly isTrusted: () => Promise<boolean>
}

/** The registries in npm's configuration. */
export interface NpmConfig {
  /**
   * The registry of a package, or the one at `address`, with its credentials. Throws InstallSourceInvalid for an
   * address that cannot be used.
   */
  registryOf(name: string, address?: string): Pick<RegistryOptions, 'url' | 'authorization'>
  /** What is configured and not used. */
  readonly warnings: readonly string[]
}

const FILES = ['builtin', 'global', 'user', 'project'] as const
/** A missing file is no error; some set HOME to /dev/null. A link that leads nowhere is not missing. */
const isMissing = (file: string, error: unknown): boolean =>
  errorCode(error) === 'ENOTDIR' || (errorCode(error) === 'ENOENT' && isAbsent(file))
/** `fetch` cannot use them. */
const UNUSED = ['ca', 'cafile', 'cert', 'key', 'proxy', 'https-proxy'] as const
const UNUSED_CURE = 'Set NODE_EXTRA_CA_CERTS for a certificate, and NODE_USE_ENV_PROXY=1 with HTTPS_PROXY for a proxy.'

/**
 * Reads npm's configuration as npm does: environment, project, user, machine. Rejects with ConfigInvalid for a file
 * that cannot be read, and if certificates would not be checked.
 */
export async function readNpmConfig({ env, workspace, isTrusted }: NpmConfigOptions): Promise<NpmConfig> {
  const config = await createConfig(env)
  await loading(config, () => config.load())
  const warnings: string[] = []
  const file = join(workspace, NPMRC_FILE)
  if (!isAbsent(file) && !isSameFile(file, String(config.get('userconfig')))) {
    if (await isTrusted()) {
      const project = readProjectNpmrc(workspace)
      if (!project.ok) throw invalid(`The file ${file} ${project.message}.`)
      await loading(config, () => config.loadProject(workspace))
    } else {
      warnings.push(`${visibleText(file)} is not used, because the project is not trusted. `
        + 'To use it, run `bulkhead trust` there, or pass --trust-project.')
    }
  }
  if (config.get('strict-ssl') !== true) {
    throw invalid(`"strict-ssl" is off in ${sourceOf(config, 'strict-ssl')}, but Bulkhead always checks certificates. `
      + 'Remove it. If the registry has a certificate of your own authority, set NODE_EXTRA_CA_CERTS.')
  }
  const unused = UNUSED.filter((key) => config.find(key) !== 'default' && config.get(key))
  if (unused.length > 0) warnings.push(`Settings of npm that are not used: ${unused.join(', ')}. ${UNUSED_CURE}`)
  return {
    warnings,
    registryOf: (name, address) =>
      withCredentials(config, address === undefined ? registryOf(config, name) : registryUrl(address)),
  }
}

/**
 * What the `.npmrc` of a project sets, as npm reads it, before variables are replaced. Reads no other file, and uses
 * none of it. Rejects with ConfigInvalid.
 */
export async function readProjectSettings(workspace: string): Promise<Readonly<Record<string, unknown>>> {
  const config = await createConfig({})
  await loading(config, () => config.loadProject(workspace))
  return { ...config.data.get('project')!.raw }
}

/** npm's reader, with the project after the other files, so that the project cannot choose them. */
async function createConfig(env: NpmConfigOptions['env']) {
  const [{ default: NpmReader }, { default: npm }] = await Promise.all([
    import('@npmcli/config'), import('@npmcli/config/lib/definitions/index.js'),
  ])
  class Reader extends NpmReader {
    /** Not where npm calls it. */
    protected override async loadProjectConfig(): Promise<void> {}
    /** npm searches the parents for a project, but trust covers the workspace only. */
    protected override async loadLocalPrefix(): Promise<void> {}

    loadProject(workspace: string): Promise<void> {
      this.localPrefix = workspace
      return super.loadProjectConfig()
    }
  }
  // npm changes the environment for its scripts.
  return new Reader({ ...npm, npmPath: npmFolder(), env: { ...env }, argv: [], warn: false })
}

/** npm beside this Node. On some systems a file in it says where the configuration of the machine is. */
function npmFolder(): string {
  const folder = dirname(process.execPath)
  return process.platform === 'win32' ? join(folder, 'node_modules/npm') : join(folder, '../lib/node_modules/npm')
}

async function loading(config: Config, load: () => Promise<void>): Promise<void> {
  try {
    await load()
  } catch (error) {
    throw invalid(`npm's configuration cannot be used: ${messageOf(error)}.`)
  }
  for (const layer of FILES) {
    const { source, raw = {}, loadError } = config.data.get(layer)!
    if (loadError && !isMissing(source, loadError)) {
      throw invalid(`The npm configuration ${source} cannot be read: ${messageOf(loadError)}.`)
    }
    // The parser accepts any bytes, so a file in UTF-16 would count as empty.
    if (Object.keys(raw).some((key) => /[\0\uFFFD]/.test(key))) {
      throw invalid(`The npm configuration ${source} is not UTF-8 text. Save it as UTF-8.`)
    }
  }
}

function withCredentials(config: Config, url: URL): Pick<RegistryOptions, 'url' | 'authorization'> {
  const authorization = authorizationOf(config, url)
  return { url: url.href, ...(authorization && { authorization }) }
}

function registryOf(config: Config, name: string): URL {
  const scoped = /^@[^/]+(?=\/)/.exec(name)?.[0].concat(':registry')
  const key = scoped !== undefined && config.find(scoped) !== null ? scoped : 'registry'
  const value = config.get(key)
  const source = sourceOf(config, key)
  if (typeof value !== 'string' || value === '') {
    const advice = 'Set it to a URL, or use --registry or BULKHEAD_REGISTRY.'
    throw new BulkheadError('InstallSourceInvalid', `"${key}" in ${source} names no registry. ${advice}`)
  }
  return registryUrl(value, `the registry ("${key}" in ${source})`)
}

/** The credentials with the longest path at or above the registry, in npm's three forms. */
function authorizationOf(config: Config, { host, pathname, origin }: URL): RegistryAuthorization | undefined {
  const text = (key: string): string | undefined => {
    const value = config.get(key)
    return typeof value === 'string' && value !== '' ? value : undefined
  }
  // npm accepts a key with and without a slash at its end.
  for (let at = pathname; ; at = at.replace(/(?:[^/]+|\/)$/, '')) {
    const [token, basic, user, password] = ['_authToken', '_auth', 'username', '_password']
      .map((key) => text(`//${host}${at}:${key}`))
    const login = user !== undefined && password !== undefined
      ? base64(`${user}:${Buffer.from(password, 'base64').toString()}`) : basic
    const header = token !== undefined ? `Bearer ${token}` : login !== undefined ? `Basic ${login}` : undefined
    if (header !== undefined) return { header, below: `${origin}${at.endsWith('/') ? at : `${at}/`}` }
    if (at === '') return undefined
  }
}

const base64 = (text: string): string => Buffer.from(text).toString('base64')

const sourceOf = (config: Config, key: string): string =>
  visibleText(config.data.get(config.find(key) ?? 'default')!.source)

function isSameFile(one: string, other: string): boolean {
  try {
    return realpathSync(one) === realpathSync(other)
  } catch {
    return false
  }
}

const invalid = (message: string) => new BulkheadError('ConfigInvalid', visibleText(message))
