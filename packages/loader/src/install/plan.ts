import type { ExtensionDescriptor, Layer, LockEntry } from '@bulkhead/contract'
import type { Json } from '@bulkhead/kit/json'
import type { PackageContents } from '../files/read-package.ts'
import type { LoaderOptions } from '../config/settings.ts'
import type { RegistryOptions } from './registry.ts'
import type { Comparison, Verdict } from './install-plan.ts'

export interface InstallerOptions {
  /** As the loader is made that will load what is installed. */
  readonly loader: LoaderOptions
  readonly layer: Exclude<Layer, 'bundled'>
  /** Absolute. The project layer is below it; installing there reads it, so it must be trusted. */
  readonly workspace: string
  /** What paths are relative to. */
  readonly cwd: string
  readonly registry?: RegistryOptions
  /** The keys that the registry signs with, in place of those that ship with the loader. */
  readonly npmKeys?: Json
}

/** A package that was obtained and proven, beside what was accepted of it. Nothing is written yet. */
export interface InstallPlan extends Comparison {
  readonly layer: Layer
  readonly source: string
  readonly extension: ExtensionDescriptor
  readonly signedBy: LockEntry['signedBy']
  readonly before: LockEntry | null
  readonly warnings: readonly string[]
  readonly verdict: Verdict
  readonly contents: PackageContents
}

export interface NewerVersion {
  readonly id: string
  readonly name: string
  readonly current: string
  readonly latest: string
  readonly isNewer: boolean
  /** What to install for it. */
  readonly spec: string
}
