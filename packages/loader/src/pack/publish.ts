// oxlint-disable-next-line typescript/triple-slash-reference -- an ambient declaration cannot be imported
/// <reference path="./libnpmpublish.d.ts" />
import { createHash } from 'node:crypto'
import { BulkheadError, MANIFEST_FILE, NPM_NAME_CHARS, NPM_NAME_PATTERN } from '@bulkhead/contract'
import { messageOf } from '@bulkhead/kit/error-message'
import { isJsonObject, type Json, type JsonObject } from '@bulkhead/kit/json'
import { visibleText } from '@bulkhead/kit/text'
import { parseStrictJson } from '../files/json-file.ts'
import { Registry, registryUrl, type RegistryOptions } from '../install/registry.ts'
import type { Packed } from './pack-folder.ts'

/** What a registry gets. */
export interface Publication {
  readonly name: string
  readonly version: string
  /** The tag that points to this version. */
  readonly tag: string
  /** null: the default of the registry. */
  readonly access: 'public' | 'restricted' | null
  /** The registry that package.json names, or null. */
  readonly registry: string | null
  /** Of the tarball, as in a lock file of npm. */
  readonly tarballIntegrity: string
  /** The content of package.json, with the README. */
  readonly manifest: JsonObject
  readonly tarball: Uint8Array
}

type Published = Pick<Packed, 'files' | 'tarball'> & { readonly extension: Pick<Packed['extension'], 'version'> }

/** Scripts that npm runs when it installs a package. Bulkhead runs none, so the package must not need them. */
const INSTALL_SCRIPTS = ['preinstall', 'install', 'postinstall', 'prepare'] as const

/** Checks that a registry can have this package. Throws ShapeInvalid. */
export function planPublication({ extension, files, tarball }: Published): Publication {
  const manifest = readPackageJson(files.get('package.json'))
  const { name, version, private: isPrivate, scripts = {}, publishConfig = {} } = manifest
  if (typeof name !== 'string' || name.length > NPM_NAME_CHARS || !NPM_NAME_PATTERN.test(name)) {
    throw invalid('needs a name that npm accepts, such as weather or @acme/weather')
  }
  if (version !== extension.version) {
    throw invalid(`has version ${visibleText(JSON.stringify(version))}, and ${MANIFEST_FILE} has ${extension.version}`)
  }
  if (isPrivate !== undefined && isPrivate !== false) throw invalid('has "private", so it must not be published')
  const script = INSTALL_SCRIPTS.find((one) => isJsonObject(scripts) && Object.hasOwn(scripts, one))
  if (script !== undefined) throw invalid(`has the script "${script}", which npm would run at installation`)
  const { access = null, tag = 'latest', registry = null } = isJsonObject(publishConfig) ? publishConfig : {}
  if (access !== null && access !== 'public' && access !== 'restricted') {
    throw invalid('has another publishConfig.access than public and restricted')
  }
  if (typeof tag !== 'string' || !/^[a-z][\w.-]*$/i.test(tag)) throw invalid('has an invalid publishConfig.tag')
  if (registry !== null && typeof registry !== 'string') throw invalid('has an invalid publishConfig.registry')
  return {
    name, version, tag, access, registry, manifest: { ...manifest, ...readmeOf(files) }, tarball,
    tarballIntegrity: `sha512-${createHash('sha512').update(tarball).digest('base64')}`,
  }
}

function readPackageJson(bytes: Uint8Array | undefined): JsonObject {
  if (bytes === undefined) {
    const advice = 'Add one with a name and the version of the manifest'
    throw new BulkheadError('ShapeInvalid', `There is no package.json, and a registry needs it. ${advice}.`)
  }
  const parsed = parseStrictJson(bytes)
  if (!parsed.ok) throw invalid(parsed.message)
  if (!isJsonObject(parsed.value)) throw invalid('must contain an object')
  return parsed.value
}

const invalid = (what: string): BulkheadError => new BulkheadError('ShapeInvalid', `package.json ${what}.`)

/** Registries show it. */
function readmeOf(files: Packed['files']): JsonObject {
  const name = [...files.keys()].find((path) => /^readme(?:\.(?:md|markdown|txt))?$/i.test(path))
  return name === undefined ? {} : { readme: new TextDecoder().decode(files.get(name)), readmeFilename: name }
}

/**
 * The version that `latest` names in the registry. null for the first publication. Rejects with InstallSourceInvalid if
 * the registry has the version that is to be published.
 */
export async function lastPublished(
  { name, version }: Pick<Publication, 'name' | 'version'>, registry: RegistryOptions,
): Promise<string | null> {
  const published = await new Registry(registry).published(name)
  if (published?.versions.has(version)) throw duplicate(name, version, registryUrl(registry.url))
  return published?.latest ?? null
}

const duplicate = (name: string, version: string, { href }: URL, cause?: unknown): BulkheadError => new BulkheadError(
  'InstallSourceInvalid',
  `${href} has ${name} ${version} already, and a published version cannot be replaced. Raise the version in package.json.`,
  { cause },
)

export interface PublishingOptions {
  readonly registry: Pick<RegistryOptions, 'url' | 'token' | 'authorization'>
  /** Whether to state by whom and from which source this was built. Needs the identity of a CI job. */
  readonly provenance: boolean
}

/** Whether this process runs in a CI job that has an identity, so that provenance can be stated. */
export const canStateProvenance = (env: Readonly<Record<string, string | undefined>>): boolean =>
  env['GITHUB_ACTIONS'] !== undefined ? Boolean(env['ACTIONS_ID_TOKEN_REQUEST_URL'])
    : env['GITLAB_CI'] !== undefined && Boolean(env['SIGSTORE_ID_TOKEN'])

/**
 * Publishes a package. Resolves with the entry of its provenance in a public log, if any. Rejects with
 * InstallSourceUnavailable.
 */
export async function publishPackage(
  { manifest, tarball, tag, access, name, version }: Publication, { registry, provenance }: PublishingOptions,
): Promise<string | undefined> {
  const url = registryUrl(registry.url)
  const { publish } = await import('libnpmpublish')
  try {
    const { transparencyLogUrl } = await publish({ ...manifest }, Buffer.from(tarball), {
      registry: url.href, access, defaultTag: tag, provenance, ...credentialsFor(url, registry), fetchRetries: 1,
      timeout: 60_000,
    })
    return transparencyLogUrl
  } catch (error) {
    if (isDuplicate(error)) throw duplicate(name, version, url, error)
    throw new BulkheadError(
      'InstallSourceUnavailable', `${name} ${version} was not published to ${url.href}: ${reasonOf(error)}`,
      { cause: error },
    )
  }
}

/** In the form of an .npmrc: npm's client sends them to addresses below the key only. */
function credentialsFor(
  url: URL, { token, authorization }: PublishingOptions['registry'],
): Readonly<Record<string, string>> {
  const header = authorization?.header ?? (token && `Bearer ${token}`)
  const [, kind, value] = /^(Bearer|Basic) (.+)$/.exec(header ?? '') ?? []
  if (value === undefined) return {}
  const below = authorization === undefined ? url : new URL(authorization.below)
  return { [`//${below.host}${below.pathname}:${kind === 'Basic' ? '_auth' : '_authToken'}`]: value }
}

const REASONS: Readonly<Record<string, string>> = {
  E401: 'The registry did not accept the credentials. Log in with npm, or set its token in your .npmrc.',
  E403: 'The registry does not allow it. The name may belong to someone else.',
  E404: 'The registry has no such package or scope, or the credentials may not publish there.',
  EOTP: 'The registry wants a one-time password. Use a token for automation.',
}

/** Registries answer 409, or 403 with a sentence. */
const isDuplicate = (error: unknown): boolean => {
  const { code } = error as { readonly code?: Json }
  return code === 'E409' || code === 'EPUBLISHCONFLICT'
    || (code === 'E403' && /previously published|already exists|cannot publish over/i.test(messageOf(error)))
}

function reasonOf(error: unknown): string {
  const { code } = error as { readonly code?: Json }
  const known = typeof code === 'string' && Object.hasOwn(REASONS, code) ? REASONS[code] : undefined
  return known ?? `${visibleText(messageOf(error).slice(0, 300))}.`
}
