import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { parseJson, type Json } from '@bulkhead/kit/json'
import { PROJECT_FOLDER, type LoaderOptions } from '@bulkhead/loader'
import { createBundledExtensions } from '@bulkhead/tools-bundled'
import { CORE_VERSION } from './version.ts'

/** In the folder of the global layer: a sigstore trusted root to use in place of the one that ships with Bulkhead. */
export const TRUST_ROOT_FILE = 'trust-root.json'

/** What {user-data} stands for. Apart from all that the host itself goes by: a tool may be granted to write there. */
export const userFolder = (home: string): string => join(home, 'data')

export interface LayerFolders {
  /** Name of the project layer's folder in the workspace. Default: `.bulkhead`. */
  readonly projectFolder?: string
  /** Absolute. A folder with `tools/` of the embedder's own, which count as bundled; each carries its integrity file. Default: none. */
  readonly bundledFolder?: string
  /** Absolute. Where what was proven of extensions is remembered for the next start. Default: `cache` in the home. */
  readonly cache?: string
}

export const cacheFolder = (home: string, { cache }: Pick<LayerFolders, 'cache'>): string => cache ?? join(home, 'cache')

/** How the loader is made, for a host and for whoever installs what that host will load. */
export function loaderOptions(
  home: string, folders: LayerFolders = {}, bundled: LoaderOptions['bundled'] = createBundledExtensions(),
): LoaderOptions {
  const { projectFolder, bundledFolder } = folders
  return {
    coreVersion: CORE_VERSION, bundled,
    roots: { global: home, projectFolder: projectFolder ?? PROJECT_FOLDER, ...(bundledFolder !== undefined && { bundled: bundledFolder }) },
    cache: cacheFolder(home, folders),
    ...readTrustRoot(join(home, TRUST_ROOT_FILE)),
  }
}

/** One that is there and cannot be read leads to nobody: signatures are refused, rather than compared with another root. */
function readTrustRoot(path: string): Pick<LoaderOptions, 'trustRoot' | 'trustRootSource'> {
  const given = (trustRoot: Json, date: string | null) => ({ trustRoot, trustRootSource: { source: path, date } })
  try {
    const parsed = parseJson(readFileSync(path, 'utf8'))
    return given(parsed.ok ? parsed.value : null, statSync(path).mtime.toISOString().slice(0, 10))
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT' ? {} : given(null, null)
  }
}
