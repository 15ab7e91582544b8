// What a machine has beside Node. A test asks here, and nowhere else, so that the summary can say what was not tested.
import { spawnSync } from 'node:child_process'
import { existsSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import type { TestOptions } from 'vitest'
import { chromium } from './chromium.ts'
import { findPostgres } from './postgres/binaries.ts'
import { publicData } from './public-data.ts'
import { runsIf } from './skips.ts'

/** Whether it is there, or a command that succeeds where it is installed and works. */
const TRIALS = {
  'public test data': publicData('') !== undefined,
  Linux: process.platform === 'linux',
  root: process.getuid?.() === 0,
  bubblewrap: ['bwrap', '--unshare-all', '--unshare-user', '--ro-bind', '/', '/', '--proc', '/proc', 'true'],
  PostgreSQL: findPostgres() !== undefined,
  Chromium: chromium() !== undefined,
  git: ['git', '--version'],
  perl: ['perl', '-v'],
  bash: ['bash', '-c', 'true'],
  zsh: ['zsh', '-c', 'true'],
  fish: ['fish', '-c', 'true'],
} as const satisfies Readonly<Record<string, boolean | readonly [string, ...string[]]>>

export type Part = keyof typeof TRIALS

const known = new Map<Part, boolean>()

/** Whether this machine has it, and it works. */
export function has(part: Part): boolean {
  const found = known.get(part) ?? succeeds(TRIALS[part])
  known.set(part, found)
  return found
}

function succeeds(trial: (typeof TRIALS)[Part]): boolean {
  if (typeof trial === 'boolean') return trial
  const [program, ...args] = trial
  return spawnSync(program, args, { stdio: 'ignore' }).status === 0
}

export const missingParts = (): readonly Part[] => (Object.keys(TRIALS) as Part[]).filter((part) => !has(part))

/** Options of a test whose result depends on the walls of the system. `.ci/run` runs it with and without bubblewrap. */
export const WALLS = { tags: ['walls'] } as const satisfies TestOptions

/** Options of a test that is skipped where one of these is missing. If it needs bubblewrap, it is a test of walls. */
export function needs(...parts: readonly Part[]): TestOptions {
  const missing = parts.filter((part) => !has(part))
  return {
    ...(parts.includes('bubblewrap') && { tags: [...WALLS.tags] }),
    ...runsIf(missing.length === 0, `needs ${missing.join(' and ')}`),
  }
}

const PROGRAM_FOLDERS = ['/usr/local/bin', '/usr/bin', '/bin', '/usr/sbin', '/sbin', '/run/current-system/sw/bin']

/**
 * What to put before a command, so that it runs as on a machine without bubblewrap: it mounts a file that cannot be
 * executed over the program, for this command and its children only. Empty where bubblewrap is not installed, undefined
 * where this user may not hide it.
 */
export function withoutBubblewrap(): readonly string[] | undefined {
  const found = PROGRAM_FOLDERS.map((folder) => join(folder, 'bwrap')).filter((path) => existsSync(path))
  if (found.length === 0) return []
  const hide = [...new Set(found.map((path) => realpathSync(path)))].map((path) => `mount --bind /dev/null '${path}'`)
  // Another user than root can mount in a user namespace as its root, and is the same user in a further one.
  const [uid, gid] = [process.getuid?.() ?? 0, process.getgid?.() ?? 0]
  const [own, again] = uid === 0 ? [[], ''] : [['--user', '--map-root-user'], `unshare --user --map-user=${uid} --map-group=${gid} `]
  const args = ['--mount', ...own, 'sh', '-c', `${hide.join(' && ')} && exec ${again}"$@"`, 'sh']
  const isHidden = spawnSync('unshare', [...args, 'sh', '-c', '! bwrap --version'], { stdio: 'ignore' }).status === 0
  return isHidden ? ['unshare', ...args] : undefined
}
