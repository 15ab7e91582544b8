import { lstatSync, statSync, type Stats } from 'node:fs'
import { isAbsolute, join } from 'node:path'
import { BulkheadError, mayLoad, type ProjectStanding } from '@bulkhead/contract'
import { messageOf } from '@bulkhead/kit/error-message'
import type { Settings } from '../config/settings.ts'
import type { Fault } from '../model/result.ts'

/** The project layer of a workspace, as far as it is known without opening it. */
export type ProjectLayer =
  | { readonly kind: 'none'; readonly root: string }
  | { readonly kind: 'folder'; readonly root: string }
  | { readonly kind: 'unusable'; readonly root: string; readonly what: string }

/** Checks `<workspace>/<project folder>` with `lstat` only. Parents are not searched. Throws ProjectPathInvalid for a workspace that is not a folder. */
export function locateProjectLayer(workspace: string, { projectFolder, globalRoot }: Settings): ProjectLayer {
  if (!isAbsolute(workspace)) throw invalid(workspace, 'is not an absolute path')
  const root = join(workspace, projectFolder)
  let stat: Stats | undefined
  try {
    if (!statSync(workspace).isDirectory()) throw invalid(workspace, 'is not a folder')
    stat = lstatSync(root, { throwIfNoEntry: false })
  } catch (error) {
    if (BulkheadError.is(error)) throw error
    const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT'
    throw invalid(workspace, isMissing ? 'does not exist' : `cannot be opened: ${messageOf(error)}`)
  }
  if (stat === undefined) return { kind: 'none', root }
  if (stat.isSymbolicLink()) return { kind: 'unusable', root, what: 'is a link' }
  if (!stat.isDirectory()) return { kind: 'unusable', root, what: 'is not a folder' }
  // A folder without rights is the placeholder that keeps commands from creating the layer.
  if ((stat.mode & 0o777) === 0) return { kind: 'none', root }
  // In a home folder both roots are the same folder, which is the global layer.
  return isSameFolder(stat, globalRoot) ? { kind: 'none', root } : { kind: 'folder', root }
}

/** Why the layer may not be read, or undefined. Must be called before any file is opened. */
export function findProjectFault(layer: ProjectLayer, standing: ProjectStanding): Fault | undefined {
  switch (layer.kind) {
    case 'none':
      return undefined
    case 'unusable':
      return {
        stage: 'locate', code: 'PackageUnsafe', path: '', location: layer.root,
        message: `The project folder ${layer.what}, so nothing in it was read.`,
        cure: 'Replace it with a folder, or remove it.',
      }
    case 'folder':
      return mayLoad(standing.projectDigest, standing) ? undefined : {
        stage: 'trust', code: 'ProjectTrustRequired', path: '', location: layer.root,
        message: 'The project has tools or settings of its own and is not trusted, so nothing in its folder was read.',
      }
  }
}

export const changedSince = (root: string): Fault => ({
  stage: 'trust', code: 'ProjectTrustRequired', path: '', location: root,
  message: 'The project has changed since it was trusted, so nothing of it is used.',
  cure: 'Review the changes, then trust it again.',
})

function isSameFolder(stat: Stats, other: string | null): boolean {
  if (other === null) return false
  try {
    const against = statSync(other)
    return against.dev === stat.dev && against.ino === stat.ino
  } catch {
    return false
  }
}

const invalid = (workspace: string, what: string) =>
  new BulkheadError('ProjectPathInvalid', `The workspace "${workspace}" ${what}.`, { data: { workspace } })
