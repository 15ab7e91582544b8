import { readFileSync, statSync } from 'node:fs'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseJson, type Json, type Loader } from '@bulkhead/contract'
import { createLoader, PROJECT_FOLDER, type LoaderOptions } from '@bulkhead/loader'
import { bundledExtensions } from '@bulkhead/tools-bundled'
import { CORE_VERSION } from './version.ts'

export interface LoaderPlaces {
  /** The folder of the global layer. Default: `.bulkhead` in the home directory. */
  readonly home?: string
  /** Name of the project layer's folder in the workspace. Default: `.bulkhead`. */
  readonly projectFolder?: string
}

export const globalRoot = ({ home }: LoaderPlaces): string => resolve(home ?? join(homedir(), '.bulkhead'))

/** In the folder of the global layer: a sigstore trusted root to use in place of the one that ships with Bulkhead. */
export const TRUST_ROOT_FILE = 'trust-root.json'

/** How the loader is made, for a host and for whoever installs what that host will load. */
export const loaderOptions = (places: LoaderPlaces): LoaderOptions => ({
  coreVersion: CORE_VERSION,
  roots: { global: globalRoot(places), projectFolder: places.projectFolder ?? PROJECT_FOLDER },
  bundled: bundledExtensions,
  cache: join(globalRoot(places), 'cache'),
  ...readTrustRoot(join(globalRoot(places), TRUST_ROOT_FILE)),
})

/** The loader with everything that ships with the host. */
export const openLoader = (places: LoaderPlaces): Loader => createLoader(loaderOptions(places))

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
