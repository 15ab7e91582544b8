import { execFileSync } from 'node:child_process'
import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { has } from '../../../../../scripts/machine.ts'

const ENV = {
  PATH: process.env['PATH'], HOME: '/dev/null', GIT_CONFIG_NOSYSTEM: '1', GIT_AUTHOR_NAME: 'Ada',
  GIT_AUTHOR_EMAIL: 'ada@example.org', GIT_COMMITTER_NAME: 'Ada', GIT_COMMITTER_EMAIL: 'ada@example.org',
  GIT_AUTHOR_DATE: '2026-01-02T03:04:05Z', GIT_COMMITTER_DATE: '2026-01-02T03:04:05Z',
  // Without sample hooks, and without a further process after each commit.
  GIT_TEMPLATE_DIR: '', GIT_CONFIG_COUNT: '1', GIT_CONFIG_KEY_0: 'maintenance.auto', GIT_CONFIG_VALUE_0: 'false',
}

/**
 * Runs the real git, as the person who prepares a repository would. Does nothing where the tests with git are skipped.
 */
export const gitIn = (folder: string, ...args: readonly string[]): string =>
  has('git')
    ? execFileSync('git', args, { cwd: folder, env: ENV, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
    : ''

export function writeIn(folder: string, path: string, content: string): void {
  mkdirSync(dirname(join(folder, path)), { recursive: true })
  writeFileSync(join(folder, path), content)
}

/** A repository with one commit, in a new folder. */
export function repositoryIn(
  folder: string, files: Readonly<Record<string, string>> = { 'a.txt': 'one\ntwo\n' },
): string {
  mkdirSync(folder, { recursive: true })
  // What `git init -b main` would write: a process for each repository takes longer.
  for (const path of ['objects/info', 'objects/pack', 'refs/heads', 'refs/tags']) {
    mkdirSync(join(folder, '.git', path), { recursive: true })
  }
  writeIn(folder, '.git/HEAD', 'ref: refs/heads/main\n')
  const core = ['repositoryformatversion = 0', 'filemode = true', 'bare = false', 'logallrefupdates = true']
  writeIn(folder, '.git/config', `[core]\n\t${core.join('\n\t')}\n`)
  for (const [path, content] of Object.entries(files)) writeIn(folder, path, content)
  gitIn(folder, 'add', '-A')
  gitIn(folder, 'commit', '-q', '--allow-empty', '-m', 'first')
  return folder
}

/** Adds a setting to a repository, as `git config` would with a process for each. */
export function configure(folder: string, key: string, value: string): void {
  const [section, ...rest] = key.split('.')
  const name = rest.pop()!
  const head = rest.length === 0 ? section : `${section} ${JSON.stringify(rest.join('.'))}`
  appendFileSync(join(folder, '.git/config'), `[${head}]\n\t${name} = ${JSON.stringify(value)}\n`)
}
