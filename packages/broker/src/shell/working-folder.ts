import { realpath } from 'node:fs/promises'
import { resolve, sep } from 'node:path'
import { BulkheadError } from '@bulkhead/contract'
import type { OpenCall } from '../model/capability.ts'
import { fileFault } from '../fs/file-errors.ts'
import { FileScope } from '../fs/file-scope.ts'

/**
 * Does something in the folder a command shall start in: the workspace, or a folder inside it that the tool may read.
 * The path handed on keeps meaning the folder that was judged for as long as the work goes on.
 */
export async function inWorkingFolder<T>(
  workspace: string, { tool }: OpenCall, given: string | undefined, work: (path: string) => T,
): Promise<T> {
  const root = given === undefined || resolve(workspace, given) === resolve(workspace)
  const { fs: { read }, ceilings = [] } = tool.grant
  const scope = root ? new FileScope('fs.read', [workspace], workspace)
    : new FileScope('fs.read', read, workspace, { ceilings: ceilings.map(({ fs }) => fs.read) })
  const place = await scope.locate(given ?? '.')
  const real = await fileFault(place.given, () => realpath(workspace))
  if (place.real !== real && !place.real.startsWith(real.endsWith(sep) ? real : real + sep)) {
    throw new BulkheadError('CapabilityDenied', `"${place.given}" lies outside the workspace. A command starts inside it.`, {
      data: { power: 'shell', path: place.given },
    })
  }
  return scope.asFolder(place, async (folder) => work(folder.at('.')))
}
