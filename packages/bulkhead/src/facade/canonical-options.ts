import { resolve } from 'node:path'
import type { ApprovalFilter } from '@bulkhead/host'
import { canonicalFolder } from './loader-options.ts'

/** Options of a session, with the real path of its folder. Rejects with ProjectPathInvalid. */
export async function inCanonicalFolder<Options extends { readonly workspace?: string }>(session: Options): Promise<Options> {
  const workspace: unknown = session?.workspace
  return typeof workspace === 'string' ? { ...session, workspace: await canonicalFolder(workspace) } : session
}

/** Approvals are stored by real path. For a deleted project, use the given path. */
export async function canonicalFilter(filter: ApprovalFilter): Promise<ApprovalFilter> {
  const workspace: unknown = filter?.workspace
  return typeof workspace !== 'string'
    ? filter
    : { ...filter, workspace: await canonicalFolder(workspace).catch(() => resolve(workspace)) }
}

