import { execFile } from 'node:child_process'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Executables } from '../process/executable.ts'

/** The settings of a user that git needs to commit, and to accept folders of other users. */
const WANTED = '^(user[.](name|email)|safe[.]directory)$'
const READ_MS = 5_000

const run = promisify(execFile)

/**
 * The name and address of the user, for git behind a wall. Their own file stays hidden, because it may hold credentials.
 * The repository's settings still come first, so these are the content of a file for the user, not variables.
 */
export class GitSettings {
  readonly #executables: Executables
  readonly #home: string
  #known: { readonly stamp: string; readonly text: Promise<string> } | undefined

  constructor(executables: Executables, home: string) {
    this.#executables = executables
    this.#home = home
  }

  /** As in a file of git. Empty without settings. Never rejects. */
  read(): Promise<string> {
    const stamp = ['.gitconfig', '.config/git/config'].map((name) => stampOf(join(this.#home, name))).join()
    if (this.#known?.stamp !== stamp) {
      this.#known = { stamp, text: stamp === ',' ? Promise.resolve('') : this.#ask().catch(() => '') }
    }
    return this.#known.text
  }

  async #ask(): Promise<string> {
    const git = await this.#executables.find('git')
    const { stdout } = await run(git.path, ['config', '--global', '--includes', '--null', '--get-regexp', WANTED], {
      cwd: '/', env: { HOME: this.#home, PATH: '/usr/bin:/bin' }, timeout: READ_MS, encoding: 'utf8',
    })
    return stdout.split('\0').filter((entry) => entry.includes('\n')).map(lineOf).join('')
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
