import { readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeEach } from 'vitest'
import { toolSession } from '../../../test/tool-session.ts'

/** The tool in a workspace that is empty before each test of a file. */
export function patchSession() {
  const session = toolSession('apply_patch')
  beforeEach(async () => {
    for (const name of await readdir(session.workspace)) await rm(join(session.workspace, name), { recursive: true })
  })
  return { ...session, text: (path: string) => readFile(join(session.workspace, path), 'utf8') }
}

export const begin = (...lines: string[]) => ['*** Begin Patch', ...lines, '*** End Patch'].join('\n')
export const unified = (path: string, ...lines: string[]) => [`--- a/${path}`, `+++ b/${path}`, ...lines, ''].join('\n')
