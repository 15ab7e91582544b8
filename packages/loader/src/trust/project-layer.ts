import { lstatSync, statSync, type Stats } from 'node:fs'
import { isAbsolute, join } from 'node:path'
import { BulkheadError, mayLoad, type ProjectStanding } from '@bulkhead/contract'
import { messageOf } from '@bulkhead/kit/error-message'
import type { Settings } from '../config/settings.ts'
import type { Fault } from '../model/result.ts'

/** What a workspace has of its own, as far as it can be known without opening it. */
export type ProjectLayer =
  | { readonly kind: 'none'; readonly root: string }
  | { readonly kind: 'folder'; readonly root: string }
  | { readonly kind: 'unusable'; readonly root: string; readonly what: string }

/**
 * Exactly `<workspace>/<project folder>`; parents are not searched. Looks at the folder and opens nothing.
 * Throws ProjectPathInvalid for a workspace that is not a folder.
 */
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
  // Made for as long as commands run, so that none of them can make the layer. Whoever means one gives it rights.
  if ((stat.mode & 0o777) === 0) return { kind: 'none', root }
  // In a home folder the two roots are one, and what is there is the global layer.
  return isSameFolder(stat, globalRoot) ? { kind: 'none', root } : { kind: 'folder', root }
}

/** Why the layer is not read although it is there, or undefined when it may be. The gate before any open. */
export function findProjectFault(layer: ProjectLayer, standing: ProjectStanding): Fault | undefined {
  switch (layer.kind) {
    case 'none':
      return undefined
    case 'unusable':
      return {
        stage: 'locate', code: 'PackageUnsafe', path: '', location: layer.root,
        message: `The project's own folder ${layer.what}; nothing in it was read.`,
        cure: 'Put a folder there, or remove it.',
      }
    case 'folder':
      return mayLoad(standing.projectDigest, standing) ? undefined : {
        stage: 'trust', code: 'ProjectTrustRequired', path: '', location: layer.root,
        message: 'The project has tools or settings of its own and is not trusted; nothing in its folder was read.',
      }
  }
}

/** The decision was about other content than it has by the time it is read. */
export const changedSince = (root: string): Fault => ({
  stage: 'trust', code: 'ProjectTrustRequired', path: '', location: root,
  message: 'The project is not what was decided about: it has changed since. Nothing of it is used.',
  cure: 'Look at what has changed, then trust it again.',
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
