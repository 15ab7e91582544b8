import { join, resolve } from 'node:path'
import { CONFIG_FILE, LOCK_FILE, type ConfigFile } from '@bulkhead/contract'
import { PackageIndex } from '../cache/package-index.ts'
import { readConfigFile, validateConfig } from '../config/config-file.ts'
import type { Settings } from '../config/settings.ts'
import { locksOf, layerSources, type OpenProject } from '../discover/layer-sources.ts'
import { readRegularFile } from '../files/read-file.ts'
import { readPackage } from '../files/read-package.ts'
import { lockDigest, lockOf } from '../lock/lock-file.ts'
import { packageDigest, sha512 } from '../model/digest.ts'
import type { LoaderLimits } from '../model/limits.ts'
import { Yielder } from '../model/yielder.ts'

/** One part of a project that a load would use: configuration, lock, an extension or an API document. */
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

/** Reads only the parts of a project that a load would use. */
export async function measureParts(project: OpenProject, settings: Settings): Promise<readonly ProjectPart[]> {
  const { limits } = settings
  const location = join(project.root, CONFIG_FILE)
  const written = readConfigFile(location, { maxBytes: limits.manifestBytes })
  const { config } = validateConfig(written.value)
  const bare = { ...settings, bundledRoot: null, globalRoot: null }
  const locks = locksOf(bare, project)
  const parts: ProjectPart[] = [
    { name: CONFIG_FILE, digest: written.digest }, { name: LOCK_FILE, digest: lockDigest(lockOf(locks, 'project')) },
    ...documentParts(readDocuments(config, project.workspace, limits)),
  ]
  const yielder = new Yielder()
  const index = PackageIndex.open(settings.cache, settings.cacheKey, project.root)
  for (const { layer, discovery } of layerSources(bare, project, [{ layer: 'project', location, config }], locks)) {
    if (layer !== 'project') continue
    parts.push(...discovery.refused.map(({ located: { part } }) => ({ name: part, digest: null })))
    for (const located of discovery.found) {
      const digests = index.find(located.location)?.fileDigests() ?? await digestsOf(located.location, limits, yielder)
      parts.push({ name: located.part, digest: digests === null ? null : packageDigest(digests) })
    }
  }
  return parts
}

async function digestsOf(folder: string, limits: Settings['limits'], yielder: Yielder): Promise<ReadonlyMap<string, string> | null> {
  const contents = await readPackage(folder, limits, yielder, () => false)
  return contents.ok ? contents.value.digests : null
}

/** Digests of the API documents in a project's configuration, by name; null if one cannot be read. */
export type ProjectDocuments = ReadonlyMap<string, string | null>

export const readDocuments = (
  { openapi = {} }: Pick<ConfigFile, 'openapi'>, workspace: string, { fileBytes: maxBytes }: Pick<LoaderLimits, 'fileBytes'>,
): ProjectDocuments => new Map(Object.entries(openapi).map(([name, { document }]) => {
  const file = readRegularFile(resolve(workspace, document), { maxBytes })
  return [name, file.ok ? sha512(file.bytes) : null]
}))

export const documentParts = (documents: ProjectDocuments): readonly ProjectPart[] =>
  [...documents].map(([name, digest]) => ({ name: `openapi/${name}`, digest }))
