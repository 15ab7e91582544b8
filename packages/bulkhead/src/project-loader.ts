import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import type { Loader } from '@bulkhead/contract'
import { createLoader, PROJECT_FOLDER } from '@bulkhead/loader'
import { bundledExtensions } from '@bulkhead/tools-bundled'
import { CORE_VERSION } from './version.ts'

export interface LoaderPlaces {
  /** The folder of the global layer. Default: `.bulkhead` in the home directory. */
  readonly home?: string
  /** Name of the project layer's folder in the workspace. Default: `.bulkhead`. */
  readonly projectFolder?: string
}

export const globalRoot = ({ home }: LoaderPlaces): string => resolve(home ?? join(homedir(), '.bulkhead'))

/** The loader with everything that ships with the host. */
export const openLoader = (places: LoaderPlaces): Loader => createLoader({
  coreVersion: CORE_VERSION,
  roots: { global: globalRoot(places), projectFolder: places.projectFolder ?? PROJECT_FOLDER },
  bundled: bundledExtensions,
  cache: join(globalRoot(places), 'cache'),
})
