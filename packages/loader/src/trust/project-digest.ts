import { join } from 'node:path'
import { CONFIG_FILE } from '@bulkhead/contract'
import { readConfigFile } from '../config/read-config.ts'
import { packageDigest } from '../digest.ts'
import { discover } from '../discover.ts'
import { readPackage } from '../files/read-package.ts'
import type { Settings } from '../options.ts'
import { Pace } from '../pace.ts'

/** One thing of a project that would be used: its configuration, or one extension. */
export interface ProjectPart {
  readonly name: string
  /** null for what is not there or cannot be used as it is. */
  readonly digest: string | null
}

/** Over one line for each part, as that of a package is over its files. What trust in a project is bound to. */
export const projectDigest = (parts: readonly ProjectPart[]): string =>
  packageDigest(new Map(parts.map(({ name, digest }) => [name, digest ?? 'none'])))

/** Reads everything of a project that would be used, and nothing else of it. Only ever for one that somebody trusts. */
export async function measureProject(root: string, { limits }: Settings): Promise<string> {
  const config = readConfigFile(join(root, CONFIG_FILE), { maxBytes: limits.manifestBytes })
  const { found, refused } = discover('project', root, limits.extensions)
  const parts: ProjectPart[] = [
    { name: CONFIG_FILE, digest: config.digest },
    ...refused.map(({ located: { part } }) => ({ name: part, digest: null })),
  ]
  const pace = new Pace()
  for (const { location, part } of found) {
    const contents = await readPackage(location, limits, pace, () => false)
    parts.push({ name: part, digest: contents.ok ? packageDigest(contents.value.digests) : null })
  }
  return projectDigest(parts)
}
