import { execFile } from 'node:child_process'
import { existsSync, mkdtempSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Executables } from '../process/executable.ts'
import type { Mount } from '../process/mounts.ts'
import { reaper } from '../process/reaper.ts'

/** The settings of a user that git needs to commit, and to accept folders of other users. */
const WANTED = '^(user[.](name|email)|safe[.]directory)$'
const READ_MS = 5_000

const run = promisify(execFile)

/** A folder for files that live as long as this process. */
let folder: string | undefined
let written = 0

/**
 * Gives git inside a sandbox the name and address of the user. Their own file stays hidden, because it may hold
 * credentials. The repository's settings still come first.
 */
export class GitIdentity {
  readonly #executables: Executables
  readonly #home: string
  #known: { readonly stamp: string; readonly file: Promise<string | undefined> } | undefined

  constructor(executables: Executables, home: string) {
    this.#executables = executables
    this.#home = home
  }

  /** At the place where git looks. undefined without settings. */
  async mount(): Promise<Mount | undefined> {
    const stamp = ['.gitconfig', '.config/git/config'].map((name) => stampOf(join(this.#home, name))).join()
    if (stamp === ',') return undefined
    if (this.#known?.stamp !== stamp) this.#known = { stamp, file: this.#write().catch(() => undefined) }
    const from = await this.#known.file
    if (from !== undefined && existsSync(from)) return { from, to: join(this.#home, '.gitconfig'), kind: 'read' }
    // Systems remove old files from the temporary folder. The next command writes it again.
    if (from !== undefined) this.#known = undefined
    return undefined
  }

  async #write(): Promise<string | undefined> {
    const git = await this.#executables.find('git')
    const { stdout } = await run(git.path, ['config', '--global', '--includes', '--null', '--get-regexp', WANTED], {
      cwd: '/', env: { HOME: this.#home, PATH: '/usr/bin:/bin' }, timeout: READ_MS, encoding: 'utf8',
    })
    const lines = stdout.split('\0').filter((entry) => entry.includes('\n')).map(lineOf)
    if (folder === undefined || !existsSync(folder)) {
      folder = mkdtempSync(join(tmpdir(), 'bulkhead-git-'))
      reaper.hold('folder', folder)
    }
    // A running sandbox still has the one before.
    const file = join(folder, `${++written}`)
    writeFileSync(file, lines.join(''), { mode: 0o600 })
    return file
  }
}

/** Empty if there is no such file, or the host cannot read it. */
function stampOf(file: string): string {
  try {
    const { ino, size, ctimeNs } = statSync(file, { bigint: true })
    return [ino, size, ctimeNs].join('.')
  } catch {
    return ''
  }
}

/** Git writes the name of a setting, a line break and the value. */
function lineOf(entry: string): string {
  const at = entry.indexOf('\n')
  const [section, name] = entry.slice(0, at).split('.')
  const value = entry.slice(at + 1).replace(/["\\]/g, '\\$&').replaceAll('\n', '\\n')
  return `[${section}]\n\t${name} = "${value}"\n`
}
