import { posix } from 'node:path'

/** A path below one that a tool gave, in the tool's own terms: it can be given back as it is. */
export function shownPath(given: string, names: readonly string[]): string {
  const folder = posix.normalize(given)
  return folder === '.' || folder === './' ? names.join('/') : `${folder.replace(/\/$/, '')}/${names.join('/')}`
}
