import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { PlantedWorkspace } from './planted-workspace.ts'

/** Folders of the system. What a program needs to run is there. `find` also opens the root, and does not list it. */
const SYSTEM = /^\/$|^\/(?:usr|bin|sbin|lib|lib32|lib64|etc|opt|proc|sys|dev)(?:\/|$)/
/** Programs that others start to do their work. */
const HELPERS: ReadonlySet<string> = new Set(['git', 'gzip', 'sh', 'dash', 'bash', 'test', 'pwd'])

/** Records the files that commands open and the programs that they start. Undefined if strace does not work here. */
export function commandTracer({ root, workspace }: PlantedWorkspace) {
  const log = join(root, '..', `${root.split('/').at(-1)!}.trace`)
  const prefix = ['strace', '-f', '-qq', '-y', '-e', 'trace=open,openat,creat,execve', '-A', '-o', log]
  const works = spawnSync(prefix[0]!, [...prefix.slice(1), 'true']).status === 0
  /** What the commands since the last call did that a command of these words must not do. */
  const take = (words: string): readonly string[] => {
    // A line that was refused has started nothing.
    const lines = existsSync(log) ? readFileSync(log, 'utf8').split('\n') : []
    rmSync(log, { force: true })
    const opened = lines.flatMap((line) => /= \d+<([^>]*)>$/.exec(line)?.[1] ?? [])
      .filter((path) => path.startsWith('/') && path !== workspace && !path.startsWith(`${workspace}/`) && !SYSTEM.test(path))
    const started = lines.flatMap((line) => /execve\("([^"]*)".* = 0$/.exec(line)?.[1] ?? [])
      .filter((path) => !SYSTEM.test(path) || !(HELPERS.has(nameOf(path)) || words.includes(nameOf(path))))
    return [...new Set([...opened.map((path) => `opened ${path}`), ...started.map((path) => `started ${path}`)])]
  }
  const forget = (): void => rmSync(log, { force: true })
  forget()
  return works ? { prefix, take, forget } : undefined
}

const nameOf = (path: string): string => path.slice(path.lastIndexOf('/') + 1)
