import { lstatSync, statSync, type Stats } from 'node:fs'
import { isAbsolute, join, resolve } from 'node:path'
import {
  BulkheadError, CONFIG_FILE, LOCK_FILE, mayLoad, type ConfigFile, type ProjectDecision,
} from '@bulkhead/contract'
import { errorCode, messageOf } from '@bulkhead/kit/error-message'
import { isAbsent } from '@bulkhead/kit/folders'
import { PackageIndex } from '../cache/package-index.ts'
import { readConfigFile, validateConfig, type ConfigSource } from '../config/config-file.ts'
import type { Settings } from '../config/settings.ts'
import { readAgents, type LayerAgents } from '../discover/agents.ts'
import { layerSources, locksOf, type OpenProject } from '../discover/layer-sources.ts'
import { outerSkillFolders, readProjectSkills, type LayerSkills } from '../discover/skills.ts'
import { readApiDocument } from '../files/api-document.ts'
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
  /** `folder`: null if there are skills only. */
  | { readonly kind: 'folder'; readonly root: string; readonly folder: string | null }
  | { readonly kind: 'unusable'; readonly root: string; readonly what: string }

/**
 * Checks `<workspace>/<project folder>`, and without it the folders for skills, with `lstat` only. Parents are not
 * searched. Throws ProjectPathInvalid for a workspace that is not a folder.
 */
export function locateProjectLayer(workspace: string, settings: Settings): ProjectLayer {
  const { projectFolder, globalRoot } = settings
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
  if (stat?.isSymbolicLink()) return { kind: 'unusable', root, what: 'is a link' }
  if (stat && !stat.isDirectory()) return { kind: 'unusable', root, what: 'is not a folder' }
  // In a home folder both roots are the same folder, which is the global layer. It could not record trust in itself.
  if (stat && isSameFolder(stat, globalRoot)) return { kind: 'none', root }
  // A folder without rights is the placeholder that keeps commands from creating the layer.
  if (stat && (stat.mode & 0o777) !== 0) return { kind: 'folder', root, folder: root }
  const hasSkills = settings.skills !== undefined
    && outerSkillFolders(settings).some((folder) => !isAbsent(join(workspace, folder)))
  return hasSkills ? { kind: 'folder', root, folder: null } : { kind: 'none', root }
}

/** Why the layer may not be read, or undefined. Must be called before any file is opened. */
export function findProjectFault(layer: ProjectLayer, decision: ProjectDecision): Fault | undefined {
  switch (layer.kind) {
    case 'none':
      return undefined
    case 'unusable':
      return {
        stage: 'locate', code: 'PackageUnsafe', path: '', location: layer.root,
        message: `The project folder ${layer.what}, so nothing in it was read.`
          + (isDisabling(layer, decision) ? ' Its rules are unknown, so all tools are disabled.' : ''),
        cure: 'Replace it with a folder, or remove it.',
      }
    case 'folder':
      return mayLoad(decision.projectDigest, decision) ? undefined : {
        stage: 'trust', code: 'ProjectTrustRequired', path: '', location: layer.root,
        message: 'The project has tools, settings or skills of its own and is not trusted, so none of them was read.',
      }
  }
}

/** A name that exists and cannot be read may have restricted. A declined project does not restrict. */
export const isDisabling = ({ kind }: ProjectLayer, { trust }: ProjectDecision): boolean =>
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

/** One part of a project: configuration, lock, extension, agent, skill, API document or npm's configuration. */
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
  const yielder = new Yielder()
  const location = join(project.root ?? '', CONFIG_FILE)
  const written = project.root === null
    ? NO_CONFIG : readConfigFile(location, { maxBytes: limits.manifestBytes })
  const { config } = validateConfig(written.value)
  const bare = { ...settings, bundledRoot: null, globalRoot: null }
  const locks = locksOf(bare, project)
  const parts: ProjectPart[] = [
    { name: CONFIG_FILE, digest: written.digest }, { name: LOCK_FILE, digest: lockDigest(lockOf(locks, 'project')) },
    ...documentParts(readDocuments(config, project.workspace, limits)), ...npmrcParts(project.workspace),
    ...partsOf(readAgents('project', project.root, limits)),
    ...partsOf(await readProjectSkills(project.workspace, config, settings, yielder)),
  ]
  const index = PackageIndex.open(settings.cache, settings.cacheKey, project.root ?? project.workspace)
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

const NO_CONFIG: ConfigSource = { value: {}, faults: [], digest: null }

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
  typeof document === 'string' ? [[name, readApiDocument(resolve(workspace, document), maxBytes).digest]] : []))

export const documentParts = (documents: ProjectDocuments): readonly ProjectPart[] =>
  [...documents].map(([name, digest]) => ({ name: `openapi/${name}`, digest }))

/** Agents or skills. No part for a missing folder, so that projects without them keep their digest. */
export const partsOf = ({ digests }: Pick<LayerAgents | LayerSkills, 'digests'>): readonly ProjectPart[] =>
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
