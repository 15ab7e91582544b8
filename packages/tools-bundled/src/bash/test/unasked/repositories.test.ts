// @module-tag git
import { hash } from 'node:crypto'
import { cpSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { has, needs, WALLS } from '../../../../../../scripts/machine.ts'
import { unwalledTool } from '../../../git/test/unwalled-tool.ts'
import { configure, repositoryIn, writeIn } from '../../../git/test/repository.ts'
import { CANARY } from './planted-workspace.ts'
import { walledBash } from './walled-bash.ts'

const WALLS_LONG = { tags: ['walls', 'long'] }

describe('a repository that leads out of the workspace shows nothing of it', WALLS, () => {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-leads-out-')))
  afterAll(() => rmSync(root, { recursive: true }))
  const outside = repositoryIn(join(root, 'outside'), { 'secret.txt': `${CANARY}\n` })
  const template = repositoryIn(join(root, 'template'))
  const secret = join(outside, 'secret.txt')
  let at = 0
  let here: string
  beforeEach(() => {
    here = join(root, `w${++at}`)
    cpSync(template, here, { recursive: true })
  })
  const linked = (path: string): void => {
    mkdirSync(join(here, path, '..'), { recursive: true })
    rmSync(join(here, path), { recursive: true, force: true })
    symlinkSync(secret, join(here, path))
  }
  const blob = hash('sha1', `blob ${CANARY.length + 1}\0${CANARY}\n`)

  const ways: readonly [string, () => void, string, string][] = [
    [
      'a gitfile',
      () => {
        rmSync(join(here, '.git'), { recursive: true })
        writeIn(here, '.git', `gitdir: ${outside}/.git\n`)
      },
      'git show HEAD:secret.txt', 'is not inside the workspace',
    ],
    [
      'alternates', () => writeIn(here, '.git/objects/info/alternates', `${outside}/.git/objects\n`),
      `git cat-file -p ${blob}`, 'alternates" names another repository',
    ],
    [
      'commondir', () => writeIn(here, '.git/commondir', `${outside}/.git\n`), 'git show main:secret.txt',
      'is not inside the workspace',
    ],
    ['a linked `shallow`', () => linked('.git/shallow'), 'git log', 'shallow" is a link'],
    ['a linked `packed-refs`', () => linked('.git/packed-refs'), 'git branch -a', 'packed-refs" is a link'],
    [
      'a linked list of what to rebase',
      () => {
        writeIn(here, '.git/rebase-merge/interactive', '')
        linked('.git/rebase-merge/done')
        linked('.git/rebase-merge/git-rebase-todo')
      },
      'git status', 'is a link',
    ],
    [
      'a linked name of a working tree',
      () => {
        writeIn(here, '.git/worktrees/ab/HEAD', 'ref: refs/heads/main\n')
        writeIn(here, '.git/worktrees/ab/commondir', '../..\n')
        linked('.git/worktrees/ab/gitdir')
      },
      'git worktree list', 'gitdir" is a link',
    ],
    [
      'an included file',
      () => {
        writeIn(root, 'other-config', `[remote "x"]\n\turl = https://${CANARY.replace(' ', '-')}@example.org\n`)
        configure(here, 'include.path', '../../other-config')
      },
      'git remote -v', 'other-config", which is outside the workspace',
    ],
    ['core.worktree', () => configure(here, 'core.worktree', outside), 'git diff', 'is not inside the workspace'],
  ]
  const showsNothing = async (_: string, prepare: () => void, command: string, message: string): Promise<void> => {
    prepare()
    await expect(unwalledTool(here).call({ action: 'status' })).rejects.toMatchObject({
      message: expect.stringContaining(message) as string,
    })
    if (!has('bubblewrap')) return
    const { bash, close } = await walledBash(here)
    expect(JSON.stringify(await bash(command))).not.toMatch(/canary/)
    await close()
  }
  it.each(ways.filter((_, way) => way % 3 === 0))('nothing is shown by %s', showsNothing)
  it.each(ways.filter((_, way) => way % 3 !== 0))('nothing is shown by %s', WALLS_LONG, showsNothing)

  const settings = ['blame.ignoreRevsFile', 'mailmap.file']
  it.each(settings)('by %s', { ...needs('bubblewrap'), ...WALLS_LONG }, async (setting) => {
    writeFileSync(secret, `${CANARY} <ada@example.org>\n`)
    configure(here, setting, secret)
    const { bash, close } = await walledBash(here)
    expect(JSON.stringify([await bash('git blame a.txt'), await bash('git shortlog HEAD')])).not.toMatch(/canary/)
    await close()
  })
})
