import type { TrustStatus } from '@bulkhead/contract'
import { createLoader } from '@bulkhead/loader'
import { assembleHost, type AssembledHost } from '../facade/create-host.ts'
import { homeFolder } from '../facade/folders.ts'
import { canonicalFolder, loaderOptions } from '../facade/loader-options.ts'
import { closing, foldersOf, type HostValues } from './host-options.ts'
import { tokenRoles } from './token-book.ts'

/** A folder as a host finds it. */
export interface Inspection extends AssembledHost {
  /** The decision about the project. */
  readonly trustStatus: TrustStatus
  /** Canonical. */
  readonly workspace: string
}

/**
 * Opens a folder to report on it: asks nothing, starts no extension and no server, opens no store, and does not use up
 * trust that applies once. `userConfig`: a configuration file in place of the user's. `await using` closes it. Rejects with
 * ProjectPathInvalid.
 */
export async function inspect(values: HostValues, userConfig?: string): Promise<Inspection & AsyncDisposable> {
  const folders = foldersOf(values)
  const workspace = await canonicalFolder(folders.workspace)
  const { status: trustStatus } = await createLoader(loaderOptions(homeFolder(values.home))).trust.status(workspace)
  const options = { ...folders, workspace, discover: 'when-asked' as const }
  const assembly = { startsEager: false, userConfig, roles: () => tokenRoles(values.home) }
  const trust = values['trust-project'] ? 'as found' : trustStatus.kind === 'once' ? 'once' : undefined
  const assembled = await assembleHost(options, trust, assembly)
  return closing({ trustStatus, workspace, ...assembled }, assembled.host)
}
