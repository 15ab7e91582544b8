import { join } from 'node:path'
import { thoroughly } from '../../../../../scripts/thoroughly.ts'
import { toolSession, type ToolSession } from '../../../test/tool-session.ts'
import { repositoryIn } from './repository.ts'
import { unwalledTool } from './unwalled-tool.ts'

const variables = { GIT_AUTHOR_NAME: 'Grace = H', GIT_AUTHOR_EMAIL: 'grace@example.org' }

/** The tool for all tests of a file, with and without a wall, and repositories in its workspace. */
export function gitSession() {
  const walled = toolSession('git', {
    env: new Map(Object.entries(variables)), envDeclared: new Set(Object.keys(variables)),
  })
  const { workspace } = walled
  /** A wall around each command takes most of the time. */
  const session = thoroughly<Pick<ToolSession, 'call' | 'refusal'>>(unwalledTool(workspace, variables), walled)
  let made = 0
  const newName = (): string => `r${++made}`
  /** A repository in a folder of the workspace. */
  const repository = (files?: Readonly<Record<string, string>>) => {
    const path = newName()
    return { path, folder: repositoryIn(join(workspace, path), files) }
  }
  return { walled, workspace, session, newName, repository }
}
