import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { thoroughly } from '../../../../../scripts/thoroughly.ts'
import { CONFIG_NAMES } from '../../../src/model/git-settings.ts'
import { analyzeCommand } from '../../../src/bash/policy/analyze-command.ts'
import { stageCommand } from '../../../src/bash/run/stage-argv.ts'
import { configure } from '../../git/repository.ts'

let root: string
let workspace: string
let template: string
beforeAll(() => {
  template = workspace = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-hardened-')))
  git('init', '-q')
  writeFileSync(join(workspace, 'f'), 'foo\n')
  git('add', 'f')
  git('commit', '-qm', 'first')
  writeFileSync(join(workspace, 'f'), 'foo\nmore\n')
})
afterAll(() => rmSync(template, { recursive: true }))
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-hardened-')))
  workspace = join(root, 'workspace')
  cpSync(template, workspace, { recursive: true })
})
afterEach(() => rmSync(root, { recursive: true }))

const ENV = { PATH: '/usr/local/bin:/usr/bin:/bin', HOME: '/dev/null', LANG: 'C.UTF-8' }
const run = (cmd: string, args: readonly string[]) => spawnSync(cmd, args, { cwd: workspace, env: ENV, encoding: 'utf8' })
const git = (...args: readonly string[]): string => run('git', ['-c', 'user.name=a', '-c', 'user.email=a@b', ...args]).stdout
/** A program that creates a file. Commands run without a sandbox in this test. */
const EVIL = (): string => `touch ${root}/pwned; cat`
const isTraced = (): boolean => existsSync(join(root, 'pwned'))

async function argvOf(command: string): Promise<readonly [string, readonly string[]]> {
  const analyzed = analyzeCommand(command, { workspace, folder: '.' })
  const step = analyzed.kind === 'plan' ? analyzed.steps[0] : undefined
  if (step?.kind !== 'run' || step.uses[0] === undefined) throw new Error(`"${command}" is not known to only read`)
  const fs = {
    stat: async (path: string) => ({ kind: (await stat(join(workspace, path))).isFile() ? 'file' as const : 'directory' as const, size: 0, modifiedAt: '' }),
    list: async (path: string) => (await readdir(join(workspace, path))).map((name) => ({ name, kind: 'file' as const })),
  }
  const sources = {
    folder: '.', fs: fs as never, expand: async () => [], note: () => undefined,
    repository: () => ({
      names: async () => run('git', CONFIG_NAMES).stdout.split('\0').filter((name) => name !== ''),
      requireSafeIndex: async () => undefined,
      isHere: async () => run('git', ['rev-parse', '--show-toplevel']).stdout === `${workspace}\n`,
    }),
  }
  const { cmd, args = [] } = await stageCommand(step.stages[0]!, step.uses[0], sources)
  return [cmd, args]
}
const runRead = async (command: string) => run(...await argvOf(command))

const COMMANDS = [
  'git status', 'git status --short', 'git diff', 'git diff HEAD', 'git log -p', 'git show', 'git show HEAD:f', 'git blame f', 'git grep foo', 'git ls-files -m', 'git cat-file -p HEAD:f', 'git stash list',
  'git describe --always', 'git cherry HEAD', 'git log --stat', 'git shortlog HEAD', 'git for-each-ref', 'git worktree list', 'git branch -vv', 'git tag', 'git rev-parse HEAD', 'git reflog', 'timeout 60 git status',
]

describe('read-only git commands run no program that the repository configures, even without a sandbox', () => {
  it.each<[string, () => void, string]>([
    ['filter', () => {
      configure(workspace, 'filter.ab.clean', EVIL())
      configure(workspace, 'filter.ab.process', EVIL())
      configure(workspace, 'filter.ab.required', 'true')
      writeFileSync(join(workspace, '.git/info/attributes'), 'f filter=ab\n')
    }, 'diff'],
    ['external diff', () => configure(workspace, 'diff.external', EVIL()), 'diff'],
    ['textconv', () => {
      configure(workspace, 'diff.evil.textconv', EVIL())
      writeFileSync(join(workspace, '.git/info/attributes'), 'f diff=evil\n')
    }, 'diff'],
    ['fsmonitor', () => configure(workspace, 'core.fsmonitor', EVIL()), 'status'],
    ['upload-pack for missing objects', () => {
      const blob = git('rev-parse', 'HEAD:f').trim()
      rmSync(join(workspace, '.git/objects', blob.slice(0, 2), blob.slice(2)), { force: true })
      for (const [key, value] of Object.entries({ 'core.repositoryformatversion': '1', 'extensions.partialClone': 'origin', 'remote.origin.promisor': 'true', 'remote.origin.url': root, 'remote.origin.uploadpack': EVIL() })) configure(workspace, key, value)
    }, 'show'],
    ['transport for missing objects', () => {
      const blob = git('rev-parse', 'HEAD:f').trim()
      rmSync(join(workspace, '.git/objects', blob.slice(0, 2), blob.slice(2)), { force: true })
      for (const [key, value] of Object.entries({ 'core.repositoryformatversion': '1', 'extensions.partialClone': 'origin', 'remote.origin.promisor': 'true', 'remote.origin.url': `ext::touch ${root}/pwned`, 'protocol.ext.allow': 'always' })) configure(workspace, key, value)
    }, 'show'],
    ['filter in a nested repository', () => {
      run('git', ['init', '-q', 'inner'])
      for (const args of [['config', 'filter.x.clean', EVIL()], ['config', 'user.name', 'a'], ['config', 'user.email', 'a@b']]) run('git', ['-C', 'inner', ...args])
      writeFileSync(join(workspace, 'inner/g'), 'one\n')
      for (const args of [['add', 'g'], ['commit', '-qm', 'inner']]) run('git', ['-C', 'inner', ...args])
      git('add', 'inner')
      git('commit', '-qm', 'second')
      writeFileSync(join(workspace, 'inner/.git/info/attributes'), 'g filter=x\n')
      writeFileSync(join(workspace, 'inner/g'), 'two\n')
      rmSync(join(root, 'pwned'), { force: true })
    }, 'status'],
  ])('%s', async (name, prepare, control) => {
    prepare()
    // A sixth of the commands, others for each setting. `pnpm soak` tries all of them.
    for (const command of COMMANDS.filter((_, index) => (index + name.length) % thoroughly(6, 1) === 0)) {
      await runRead(command)
      expect([command, isTraced()]).toEqual([command, false])
    }
    git(control)
    expect(isTraced()).toBe(true)
  })

  it.each(['core.worktree', 'filter.a=b.clean', 'protocol.a=b.allow'])('are refused if the repository has the setting %s', async (name) => {
    configure(workspace, name, root)
    await expect(runRead('git status')).rejects.toThrow(`the setting "${name}"`)
  })

  it('run in a submodule, where core.worktree is the current folder', async () => {
    configure(workspace, 'core.worktree', workspace)
    expect((await runRead('git status --short')).stdout).toBe(' M f\n')
  })

  it('start the program git itself', async () => {
    expect((await argvOf('git -C . status'))[0]).toBe('git')
  })

  it('still print their normal output', async () => {
    expect((await runRead('git status --short')).stdout).toBe(' M f\n')
    expect((await runRead('git diff --stat')).stdout).toContain('1 insertion')
    expect((await runRead('git show HEAD:f')).stdout).toBe('foo\n')
  })
})

it('find -exec skips symbolic links', async () => {
  expect((await argvOf("find . -name '*.ts' -exec grep -l foo {} +"))[1].join(' ')).toBe('. -name *.ts ! -type l -exec grep -l foo {} +')
})
it('diff does not follow symbolic links', async () => {
  expect((await argvOf('diff -r f f'))[1]).toEqual(['--no-dereference', '-r', 'f', 'f'])
})
