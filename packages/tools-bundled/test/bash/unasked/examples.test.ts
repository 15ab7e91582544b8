import { hash } from 'node:crypto'
import { cpSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { analyzeCommand } from '../../../src/bash/policy/analyze-command.ts'
import { unwalledTool, unwalledBash } from '../../git/unwalled-tool.ts'
import { configure, gitIn, repositoryIn, writeIn } from '../../git/repository.ts'
import { CANARY, changed, plantedWorkspace, snapshot } from './planted-workspace.ts'

const planted = plantedWorkspace()
const { workspace, canary, absent } = planted
afterAll(() => rmSync(planted.root, { recursive: true }))

const readingOf = (command: string) => analyzeCommand(command, { workspace, folder: '.' }).analysis.onlyReads

describe('a command asks if a word after an option could be another option or a file', () => {
  it.each([
    `git diff -U --output=${absent}`, `git log --pretty --output=${absent}`, `git blame -CL --contents=${canary} a.txt`, `diff --context --to-file=${canary} a.txt`, 'strings @names',
    'xxd -as a.txt b.txt', 'xxd a.txt -ps', 'tree -Io x out', `git diff -U ${canary} a.txt`, `git log --unified --output=${absent}`, `git log -n --output=${absent}`, `git show --since --output=${absent}`,
    `git diff -S --output=${absent}`, `git stash list -n --output=${absent}`, `git blame -M ${canary}`, `git branch --merged --list`, `git tag --sort -d v1`, `git show-ref -s ${canary}`,
    `git log -pU ${canary}`, `git log --format ${canary}`, `git log -S ${canary}`, 'git grep one', `diff --unified ${canary} a.txt`, `diff -x --to-file=${canary} a.txt b.txt`, `sort -k -o b.txt`, `sort -t -o a.txt`,
    `uniq -f -s a.txt b.txt`, `grep -e -f ${canary} a.txt`, `grep -A --file=${canary} a.txt`, `rg -e --pre=x a.txt`, `rg -A --pre x`, `awk -F -f names a.txt`, `awk -v -f names`, 'sed -e -i a.txt', `jq -f names a.txt`,
    `head -n -c a.txt`, `find . -name -delete`, `find . -newer -delete`, `find . -path -fprintf ${absent} x`, `stat -c --file=${canary}`, `file -F -f names`, `du -d --files0-from=names`, 'date -f names', 'date -r a.txt', 'date -Is',
    'tree -L 2', 'xxd -l 5 a.txt', 'strings -n 5 a.txt', 'strings *', `strings -- @names`, 'xxd -- a.txt', 'zcat x', `timeout -k -s touch ${absent}`, 'nice -n --adjustment=1 ls', 'stdbuf -o -e ls',
    // The words that it becomes decide which command runs.
    `timeout $(echo 5 touch ${absent}) ls`, `timeout -k $(echo 1 5 touch ${absent}) 1 ls`, 'ls | xargs -n $(echo 1) wc',
    // Abbreviations of long options.
    `git diff --outp=${absent}`, `git log --unif=3`, `sort --out=${absent}`, `diff --to-f=${canary} a.txt`, `wc --files0=names`, `grep --fil=${canary} a.txt`, `du --files0=names`, 'sed --in a.txt', `sort --comp=sh a.txt`,
  ])('%s', (command) => {
    expect(readingOf(command)).toBeUndefined()
  })
})

describe('forms that cannot be misread still run unasked behind a wall', () => {
  it.each([
    'git diff -U5', 'git diff -U', 'git diff --unified=5 HEAD', 'git log --pretty=oneline -n 3', 'git log -n3 --format=%h', 'git log --since=yesterday --author Ada', 'git blame -C -L 1,2 a.txt', 'git blame -M90 a.txt', 'git status -sb', 'git status -suno',
    'git shortlog -sn HEAD', 'git branch --contains HEAD', 'git branch -av', 'git show-ref -s', 'git ls-files -com', 'diff -U 3 a.txt b.txt', 'diff --unified=3 a.txt b.txt', 'diff --color=always a.txt b.txt', 'grep -rnA 3 one src', 'grep -C3 one a.txt',
    'sort -k 2 -t , a.txt', 'head -n 5 a.txt', 'find . -mtime -7', 'find . -size -5k', 'zcat x.gz', 'strings a.txt', 'date +%s', 'xxd a.txt', 'nice -n -5 ls', 'timeout -k 1 5 ls',
  ])('%s', (command) => {
    expect(readingOf(command)).toBeTruthy()
  })
})

it('git runs nothing that a submodule names', async () => {
  const bash = unwalledBash(workspace)
  const before = snapshot(planted.root)
  for (const command of ['git status', 'git diff', 'git diff HEAD', 'git log -p -2', 'git show', 'git ls-files -m']) {
    expect(await bash(command), command).toMatchObject({ exit_code: 0 })
    expect([command, changed(before, snapshot(planted.root))]).toEqual([command, []])
  }
})

describe('a repository that leads out of the workspace is refused by bash and by the tool git', () => {
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

  it.each<[string, () => void, string, string]>([
    ['a gitfile', () => {
      rmSync(join(here, '.git'), { recursive: true })
      writeIn(here, '.git', `gitdir: ${outside}/.git\n`)
    }, 'git show HEAD:secret.txt', 'is not inside the workspace'],
    ['alternates', () => writeIn(here, '.git/objects/info/alternates', `${outside}/.git/objects\n`), `git cat-file -p ${blob}`, 'alternates" names another repository'],
    ['commondir', () => writeIn(here, '.git/commondir', `${outside}/.git\n`), 'git show main:secret.txt', 'is not inside the workspace'],
    ['a linked `shallow`', () => linked('.git/shallow'), 'git log', 'shallow" is a link'],
    ['a linked `packed-refs`', () => linked('.git/packed-refs'), 'git branch -a', 'packed-refs" is a link'],
    ['a linked list of what to rebase', () => {
      writeIn(here, '.git/rebase-merge/interactive', '')
      linked('.git/rebase-merge/done')
      linked('.git/rebase-merge/git-rebase-todo')
    }, 'git status', 'is a link'],
    ['a linked name of a working tree', () => {
      writeIn(here, '.git/worktrees/ab/HEAD', 'ref: refs/heads/main\n')
      writeIn(here, '.git/worktrees/ab/commondir', '../..\n')
      linked('.git/worktrees/ab/gitdir')
    }, 'git worktree list', 'gitdir" is a link'],
    ['an included file', () => {
      writeIn(root, 'other-config', `[remote "x"]\n\turl = https://${CANARY.replace(' ', '-')}@example.org\n`)
      configure(here, 'include.path', '../../other-config')
    }, 'git remote -v', 'other-config", which is outside the workspace'],
    ['core.worktree', () => configure(here, 'core.worktree', outside), 'git diff', 'is not inside the workspace'],
  ])('by %s', async (_, prepare, command, message) => {
    prepare()
    const result = await unwalledBash(here)(command).catch((error: Error) => ({ stderr: error.message }))
    expect(result).toMatchObject({ stderr: expect.stringContaining(message) as string })
    expect(JSON.stringify(result)).not.toMatch(/canary/)
    await expect(unwalledTool(here).call({ action: 'status' })).rejects.toMatchObject({ message: expect.stringContaining(message) as string })
  })

  it('by blame.ignoreRevsFile, for blame', async () => {
    configure(here, 'blame.ignoreRevsFile', secret)
    await expect(unwalledBash(here)('git blame a.txt')).rejects.toThrow('the setting "blame.ignorerevsfile"')
    expect(await unwalledBash(here)('git log --oneline')).toMatchObject({ exit_code: 0 })
  })

  it('by mailmap.file, without effect', async () => {
    writeFileSync(secret, `${CANARY} <ada@example.org>\n`)
    configure(here, 'mailmap.file', secret)
    expect(gitIn(here, 'shortlog', 'HEAD')).toContain(CANARY)
    expect(await unwalledBash(here)('git shortlog HEAD')).toMatchObject({ stdout: expect.not.stringContaining(CANARY) as string })
  })
})
