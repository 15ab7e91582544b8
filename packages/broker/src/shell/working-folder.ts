import { realpath } from 'node:fs/promises'
import { resolve } from 'node:path'
import { BulkheadError } from '@bulkhead/contract'
import { withFileErrors } from '../fs/file-errors.ts'
import { FileScope } from '../fs/file-scope.ts'
import { liesIn } from '../fs/paths.ts'
import type { OpenCall } from '../model/capability.ts'

/**
 * Starts a command in its working folder: the workspace, or a folder in it or in another root that the tool
 * may read. The path refers to the folder that was checked, until the command is there.
 */
export async function inWorkingFolder<Command extends { readonly inFolder: Promise<void> }>(
  workspace: string, call: OpenCall, given: string | undefined, start: (path: string) => Command,
): Promise<Command> {
  const { scope, resolved } = await workingFolder(workspace, call, given)
  return scope.asFolder(resolved, async (folder) => {
    const started = start(folder.at('.'))
    await started.inFolder
    return started
  })
}

export async function workingFolder(workspace: string, { tool, uses }: OpenCall, given: string | undefined) {
  const isWorkspace = given === undefined || resolve(workspace, given) === resolve(workspace)
  const { fs: { read, roots, commandRoots = [] }, ceilings = [] } = tool.grant
  const scope = isWorkspace ? new FileScope('fs.read', [workspace], workspace)
    : new FileScope('fs.read', read, workspace, { roots, ceilings: ceilings.map(({ fs }) => fs.read) })
  const resolved = await scope.under(isWorkspace ? undefined : uses).locate(given ?? '.')
  const folders = await withFileErrors(resolved.given, () => Promise.all([workspace, ...commandRoots].map((folder) =>
    realpath(folder))))
  if (!folders.some((folder) => liesIn(resolved.real, folder))) {
    throw new BulkheadError(
      'CapabilityDenied',
      `"${resolved.given}" is outside the workspace. Commands start inside it.`,
      { data: { power: 'shell', path: resolved.given } },
    )
  }
  return { scope, resolved, path: scope.pathOf(resolved) }
}
