import type { ExtensionDigests } from './loader.ts'

/** Where calls run instead of on this machine, as `runsOn` of an extension or of a rule says. */
export interface RunsOn {
  /** Sorted. A worker must have all of them. */
  readonly labels: readonly string[]
  /** What workers call the workspace. */
  readonly workspace?: string | undefined
}

/** What a worker needs to know about an extension. */
export interface RemoteCode {
  /** Of all its calls, unless a rule says otherwise for one. Absent: they run here. */
  readonly runsOn: RunsOn | undefined
  readonly digests: ExtensionDigests
  /** All files of the package, with those that prove its origin. */
  readPackage(): Promise<ReadonlyMap<string, Uint8Array>>
}

export interface WorkersFor {
  readonly ready: readonly string[]
  /** One sentence for each other worker, or one for all of them. */
  readonly reasons: readonly string[]
}
