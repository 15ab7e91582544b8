import { realpathSync } from 'node:fs'
import { workspaceFault } from '../facade/workspace-fault.ts'

/** The folder that a command works on, without links. Throws ProjectPathInvalid. */
export function workspaceFolder(given: string | undefined): string {
  const path = given ?? process.cwd()
  try {
    return realpathSync(path)
  } catch (error) {
    throw workspaceFault(path, error)
  }
}
