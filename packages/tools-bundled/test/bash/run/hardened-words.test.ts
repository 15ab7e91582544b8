// @module-tag git
import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { thoroughly } from '../../../../../scripts/thoroughly.ts'
import { analyzeCommand } from '../../../src/bash/policy/analyze-command.ts'
import { stageCommand } from '../../../src/bash/run/stage-argv.ts'
import { configure } from '../../git/repository.ts'
import { unwalledBash } from '../../git/unwalled-tool.ts'

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

/** The words that would run. */
async function argvOf(command: string): Promise<readonly string[]> {
  const analyzed = analyzeCommand(command, { workspace, folder: '.' })
  const step = analyzed.kind === 'plan' ? analyzed.steps[0] : undefined
  if (step?.kind !== 'run' || step.uses[0] === undefined) throw new Error(`"${command}" is not known to only read`)
  const fs = { stat: async () => ({ kind: 'file' as const, size: 0 }), list: async () => [] }
  const { cmd, args = [] } = await stageCommand(step.stages[0]!, step.uses[0], {
    folder: '.', fs: fs as never, expand: async () => [], note: () => undefined,
    repository: async () => ({ top: workspace, options: ['-c', 'x.y=z'], names: [], submodules: [] }),
  })
  return [cmd, ...args]
}
const runRead = (command: string) => unwalledBash(workspace)(command)

const COMMANDS = [
  'git status', 'git status --short', 'git diff', 'git diff HEAD', 'git log -p', 'git show', 'git show HEAD:f', 'git blame f', 'git ls-files -m', 'git cat-file -p HEAD:f', 'git stash list',
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

  it.each(['filter.a=b.clean', 'protocol.a=b.allow', 'remote.origin.promisor', 'extensions.partialclone', 'hook.x.command'])('are refused if the repository has the setting %s', async (name) => {
    configure(workspace, name, root)
    await expect(runRead('git status')).rejects.toThrow(`the setting "${name}"`)
  })

  it('run in a submodule, where core.worktree is the current folder', async () => {
    configure(workspace, 'core.worktree', workspace)
    expect(await runRead('git status --short')).toMatchObject({ stdout: ' M f\n' })
  })

  it('have guards after their own options, before what they apply to', async () => {
    const guards = ['--no-ext-diff', '--no-textconv', '--ignore-submodules=dirty']
    expect(await argvOf('git -C . diff HEAD --stat -- -p f')).toEqual(['git', '-c', 'x.y=z', 'diff', '--stat', ...guards, 'HEAD', '--', '-p', 'f'])
    expect(await argvOf('git diff f -U3')).toEqual(['git', '-c', 'x.y=z', 'diff', '-U3', ...guards, 'f'])
    expect(await argvOf('git log -n 1 HEAD --oneline')).toEqual(['git', '-c', 'x.y=z', 'log', '-n', '1', '--oneline', ...guards.slice(0, 2), 'HEAD'])
    expect(await argvOf('git rev-parse HEAD --abbrev-ref HEAD')).toEqual(['git', '-c', 'x.y=z', 'rev-parse', 'HEAD', '--abbrev-ref', 'HEAD'])
  })

  it('need no repository if they open none', async () => {
    rmSync(join(workspace, '.git'), { recursive: true })
    expect(await runRead('git --version')).toMatchObject({ exit_code: 0 })
    expect(await runRead('git status')).toMatchObject({ exit_code: 1, stderr: expect.stringContaining('does not belong to a git repository') as string })
  })

  it('still print their normal output', async () => {
    expect(await runRead('git status --short')).toMatchObject({ stdout: ' M f\n' })
    expect(await runRead('git diff --stat')).toMatchObject({ stdout: expect.stringContaining('1 insertion') as string })
    expect(await runRead('git diff f')).toMatchObject({ stdout: expect.stringContaining('+more') as string })
    expect(await runRead('git show HEAD:f')).toMatchObject({ stdout: 'foo\n' })
    expect(await runRead('git log --oneline -1 -- f')).toMatchObject({ stdout: expect.stringContaining('first') as string })
  })
})

it('find -exec skips symbolic links', async () => {
  expect((await argvOf("find . -name '*.ts' -exec grep -l foo {} +")).join(' ')).toBe('find . -name *.ts ! -type l -exec grep -l foo {} +')
})
it('diff does not follow symbolic links', async () => {
  expect(await argvOf('diff f f -r')).toEqual(['diff', '-r', '--no-dereference', 'f', 'f'])
})
