import { ToolError } from '@bulkhead/contract'

/** Throws InputInvalid for a path that a shell would read as the home folder: here it would be a folder that is called `~`. */
export function refuseHome(path = ''): void {
  if (!/^~(?:\/|$)/.test(path)) return
  const message = `"${path}" begins with "~", which stands for no home folder here. Name a path inside the workspace; what is really called "~" is "./~".`
  throw new ToolError('InputInvalid', message)
}
