import { lstatSync, statSync, type Stats } from 'node:fs'
import { basename, dirname, isAbsolute, join, resolve } from 'node:path'
import {
  BulkheadError, CONFIG_FILE, LOCK_FILE, mayLoad, type ConfigFile, type ProjectStanding,
} from '@bulkhead/contract'
import { documentDigest, findParts, type PartFile } from '@bulkhead/kit/document-parts'
import { errorCode, messageOf } from '@bulkhead/kit/error-message'
import { PackageIndex } from '../cache/package-index.ts'
import { readConfigFile, validateConfig } from '../config/config-file.ts'
import type { Settings } from '../config/settings.ts'
import { readAgents, type LayerAgents } from '../discover/agents.ts'
import { layerSources, locksOf, type OpenProject } from '../discover/layer-sources.ts'
import { readRegularFile, type FileRead } from '../files/read-file.ts'
import { readPackage } from '../files/read-package.ts'
import { lockDigest, lockOf } from '../lock/lock-file.ts'
import { packageDigest, sha512 } from '../model/digest.ts'
import type { LoaderLimits } from '../model/limits.ts'
import type { Fault } from '../model/result.ts'
import { Yielder } from '../model/yielder.ts'

/** The project layer of a workspace, as far as it is known without opening it. */
export type ProjectLayer =
  | { readonly kind: 'none'; readonly root: string }
  | { readonly kind: 'folder'; readonly root: string }
  | { readonly kind: 'unusable'; readonly root: string; readonly what: string }

/**
 * Checks `<workspace>/<project folder>` with `lstat` only. Parents are not searched. Throws ProjectPathInvalid for a
 * workspace that is not a folder.
 */
export function locateProjectLayer(workspace: string, { projectFolder, globalRoot }: Settings): ProjectLayer {
  if (!isAbsolute(workspace)) throw invalid(workspace, 'is not an absolute path')
  const root = join(workspace, projectFolder)
  let stat: Stats | undefined
  try {
    if (!statSync(workspace).isDirectory()) throw invalid(workspace, 'is not a folder')
    stat = lstatSync(root, { throwIfNoEntry: false })
  } catch (error) {
    if (BulkheadError.is(error)) throw error
    const isMissing = errorCode(error) === 'ENOENT'
    throw invalid(workspace, isMissing ? 'does not exist' : `cannot be opened: ${messageOf(error)}`)
  }
  if (stat === undefined) return { kind: 'none', root }
  if (stat.isSymbolicLink()) return { kind: 'unusable', root, what: 'is a link' }
  if (!stat.isDirectory()) return { kind: 'unusable', root, what: 'is not a folder' }
  // A folder without rights is the placeholder that keeps commands from creating the layer.
  if ((stat.mode & 0o777) === 0) return { kind: 'none', root }
  // In a home folder both roots are the same folder, which is the global layer.
  return isSameFolder(stat, globalRoot) ? { kind: 'none', root } : { kind: 'folder', root }
}

/** Why the layer may not be read, or undefined. Must be called before any file is opened. */
export function findProjectFault(layer: ProjectLayer, standing: ProjectStanding): Fault | undefined {
  switch (layer.kind) {
    case 'none':
      return undefined
    case 'unusable':
      return {
        stage: 'locate', code: 'PackageUnsafe', path: '', location: layer.root,
        message: `The project folder ${layer.what}, so nothing in it was read.`
          + (isDisabling(layer, standing) ? ' Its rules are unknown, so all tools are disabled.' : ''),
        cure: 'Replace it with a folder, or remove it.',
      }
    case 'folder':
      return mayLoad(standing.projectDigest, standing) ? undefined : {
        stage: 'trust', code: 'ProjectTrustRequired', path: '', location: layer.root,
        message: 'The project has tools or settings of its own and is not trusted, so nothing in its folder was read.',
      }
  }
}

/** A name that exists and cannot be read may have restricted. A declined project does not restrict. */
export const isDisabling = ({ kind }: ProjectLayer, { trust }: ProjectStanding): boolean =>
  kind === 'unusable' && trust !== 'declined'

export const changedSince = (root: string): Fault => ({
  stage: 'trust', code: 'ProjectTrustRequired', path: '', location: root,
  message: 'The project has changed since it was trusted, so nothing of it is used.',
  cure: 'Review the changes, then trust it again.',
})

function isSameFolder(stat: Stats, other: string | null): boolean {
  if (other === null) return false
  try {
    const against = statSync(other)
    return against.dev === stat.dev && against.ino === stat.ino
  } catch {
    return false
  }
}

const invalid = (workspace: string, what: string) =>
  new BulkheadError('ProjectPathInvalid', `The workspace "${workspace}" ${what}.`, { data: { workspace } })

/** One part of a project: configuration, lock, an extension, an API document or npm's configuration. */
export interface ProjectPart {
  readonly name: string
  /** null if it is missing or unusable. */
  readonly digest: string | null
}

/** Over one line per part, like the digest of a package. Trust in a project is bound to it. */
export const projectDigest = (parts: readonly ProjectPart[]): string =>
  packageDigest(new Map(parts.map(({ name, digest }) => [name, digest ?? 'none'])))

/** The digest of a project without content. */
export const EMPTY_LAYER = projectDigest([{ name: CONFIG_FILE, digest: null }, { name: LOCK_FILE, digest: null }])

export const measureProject = async (project: OpenProject, settings: Settings): Promise<string> =>
  projectDigest(await measureParts(project, settings))

/** Reads only the parts of a project that a load or an installation would use. */
export async function measureParts(project: OpenProject, settings: Settings): Promise<readonly ProjectPart[]> {
  const { limits } = settings
  const location = join(project.root, CONFIG_FILE)
  const written = readConfigFile(location, { maxBytes: limits.manifestBytes })
  const { config } = validateConfig(written.value)
  const bare = { ...settings, bundledRoot: null, globalRoot: null }
  const locks = locksOf(bare, project)
  const parts: ProjectPart[] = [
    { name: CONFIG_FILE, digest: written.digest }, { name: LOCK_FILE, digest: lockDigest(lockOf(locks, 'project')) },
    ...documentParts(readDocuments(config, project.workspace, limits)), ...npmrcParts(project.workspace),
    ...agentParts(readAgents('project', project.root, limits)),
  ]
  const yielder = new Yielder()
  const index = PackageIndex.open(settings.cache, settings.cacheKey, project.root)
  for (const { layer, discovery } of layerSources(bare, project, [{ layer: 'project', location, config }], locks)) {
    if (layer !== 'project') continue
    parts.push(...discovery.refused.map(({ candidate: { part } }) => ({ name: part, digest: null })))
    for (const candidate of discovery.found) {
      const cached = index.find(candidate.location)
      const digests = cached?.fileDigests() ?? await digestsOf(candidate.location, limits, yielder)
      parts.push({ name: candidate.part, digest: digests === null ? null : packageDigest(digests) })
    }
  }
  return parts
}

async function digestsOf(
  folder: string, limits: Settings['limits'], yielder: Yielder,
): Promise<ReadonlyMap<string, string> | null> {
  const contents = await readPackage(folder, limits, yielder, () => false)
  return contents.ok ? contents.value.digests : null
}

/**
 * Digests of the API documents in a project's configuration with the files that they refer to, by name; null if one
 * cannot be read.
 */
export type ProjectDocuments = ReadonlyMap<string, string | null>

export const readDocuments = (
  { openapi = {} }: Pick<ConfigFile, 'openapi'>, workspace: string,
  { fileBytes: maxBytes }: Pick<LoaderLimits, 'fileBytes'>,
): ProjectDocuments => new Map(Object.entries(openapi).flatMap(([name, { document }]): [string, string | null][] =>
  // The digest of the configuration covers any other.
  typeof document === 'string' ? [[name, digestOfDocument(resolve(workspace, document), maxBytes)]] : []))

function digestOfDocument(path: string, maxBytes: number): string | null {
  const read = (place: string): PartFile | null => {
    const file = readRegularFile(place, { maxBytes })
    if (!file.ok) return null
    return { text: Buffer.from(file.bytes).toString('utf8').replace(/^\uFEFF/, ''), digest: sha512(file.bytes) }
  }
  const document = read(path)
  if (document === null) return null
  const search = findParts(basename(path), document.text)
  let next = search.next()
  while (!next.done) next = search.next(read(join(dirname(path), next.value)))
  return documentDigest(document.digest, next.value)
}

export const documentParts = (documents: ProjectDocuments): readonly ProjectPart[] =>
  [...documents].map(([name, digest]) => ({ name: `openapi/${name}`, digest }))

/** No part for a missing folder, so that projects without agents keep their digest. */
export const agentParts = ({ digests }: Pick<LayerAgents, 'digests'>): readonly ProjectPart[] =>
  [...digests].map(([name, digest]) => ({ name, digest }))

/** In the workspace. It chooses the registries that packages are installed from. */
export const NPMRC_FILE = '.npmrc'
const NPMRC_BYTES = 1024 * 1024

/** Follows no link, because trust would not cover the target. */
export const readProjectNpmrc = (workspace: string): FileRead =>
  readRegularFile(join(workspace, NPMRC_FILE), { maxBytes: NPMRC_BYTES })

/** No part for a missing file, so that projects without one keep their digest. */
export function npmrcParts(workspace: string): readonly ProjectPart[] {
  const file = readProjectNpmrc(workspace)
  if (file.ok) return [{ name: NPMRC_FILE, digest: sha512(file.bytes) }]
  return file.problem === 'missing' ? [] : [{ name: NPMRC_FILE, digest: null }]
}
