// The files of a new PostgreSQL. `initdb` takes a second of processor time, so its result is kept and copied.
import { spawnSync } from 'node:child_process'
import { hash, randomBytes } from 'node:crypto'
import { chownSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** PostgreSQL refuses root. Nothing else of this machine runs as this user, and there need not be one of that name. */
const UNUSED_ID = 54_321
/** `initdb` asks for the name of its user. */
const NAMED_ID = 65_534
const isRoot = process.getuid?.() === 0
const as = (id: number) => isRoot ? { uid: id, gid: id } : {}
/** Options of a process that runs the server. */
export const asServer = as(UNUSED_ID)

/** Only this user can read it. */
const KEPT = fileURLToPath(new URL('../../node_modules/.cache/postgres', import.meta.url))

/**
 * Makes the folder of the data, with these files. Its parent is for this server alone. Returns the password of the user
 * `postgres`.
 */
export function makeCluster(
  programs: string, data: string, parent: string, files: Readonly<Record<string, string>>,
): string {
  const kept = join(KEPT, hash('sha256', versionOf(programs)).slice(0, 16))
  let password = copyKept(kept, data)
  if (password === undefined) {
    password = initialize(programs, data, parent)
    keep(kept, data, password)
  }
  for (const [name, text] of Object.entries(files)) writeFileSync(join(data, name), text, { mode: 0o600 })
  if (isRoot) run('chown', ['-R', `${UNUSED_ID}:${UNUSED_ID}`, data, parent])
  return password
}

function initialize(programs: string, data: string, parent: string): string {
  const password = randomBytes(12).toString('hex')
  const passwordFile = join(parent, 'password')
  mkdirSync(data, { mode: 0o700 })
  writeFileSync(passwordFile, password)
  if (isRoot) for (const path of [data, passwordFile]) chownSync(path, NAMED_ID, NAMED_ID)
  run(join(programs, 'initdb'), [
    '-D', data, '-U', 'postgres', '--pwfile', passwordFile, '--auth', 'md5', '--encoding', 'UTF8',
    // Less to copy.
    '--locale', 'C', '--wal-segsize', '1', '--no-sync', '--no-instructions',
  ], { ...as(NAMED_ID), cwd: parent, env: {} })
  rmSync(passwordFile)
  return password
}

/** undefined if nothing is kept yet, or this user cannot read it. */
function copyKept(kept: string, data: string): string | undefined {
  try {
    const password = readFileSync(join(kept, 'password'), 'utf8')
    run('cp', ['-R', join(kept, 'data'), data])
    return password
  } catch {
    rmSync(data, { recursive: true, force: true })
    return undefined
  }
}

/** The first one of several processes keeps it. Without a folder that can be written, nothing is kept. */
function keep(kept: string, data: string, password: string): void {
  let draft: string | undefined
  try {
    mkdirSync(KEPT, { recursive: true, mode: 0o700 })
    draft = mkdtempSync(`${kept}-`)
    run('cp', ['-R', data, join(draft, 'data')])
    writeFileSync(join(draft, 'password'), password, { mode: 0o600 })
    renameSync(draft, kept)
  } catch {
    if (draft !== undefined) rmSync(draft, { recursive: true, force: true })
  }
}

const versionOf = (programs: string): string =>
  spawnSync(join(programs, 'postgres'), ['--version'], { encoding: 'utf8' }).stdout

function run(program: string, args: readonly string[], options: object = {}): void {
  const { status, stdout, stderr, error } = spawnSync(program, args, { encoding: 'utf8', ...options })
  if (status !== 0) throw new Error(`${program} failed: ${error?.message ?? `${stdout}${stderr}`}`)
}
