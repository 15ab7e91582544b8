// @module-tag git
import { appendFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { JsonObject } from '@bulkhead/kit/json'
import { describe, expect, it } from 'vitest'
import { readGitArguments } from '../git-arguments.ts'
import { thoroughly } from '../../../../../scripts/thoroughly.ts'
import { toolSession, type ToolSession } from '../../../test/tool-session.ts'
import { gitIn, repositoryIn, writeIn } from './repository.ts'
import { unwalledTool } from './unwalled-tool.ts'

const variables = { GIT_AUTHOR_NAME: 'Grace = H', GIT_AUTHOR_EMAIL: 'grace@example.org' }
const walled = toolSession('git', {
  env: new Map(Object.entries(variables)), envDeclared: new Set(Object.keys(variables)),
})
const { workspace } = walled
/** A wall around each command takes most of the time. */
const session = thoroughly<Pick<ToolSession, 'call' | 'refusal'>>(unwalledTool(workspace, variables), walled)
const nameless = unwalledTool(workspace, {})
const HASH = /^[0-9a-f]{40}$/
let made = 0
/** A repository in a folder of the workspace. */
const repository = (files?: Readonly<Record<string, string>>) => {
  const path = `r${++made}`
  return { path, folder: repositoryIn(join(workspace, path), files) }
}

describe('reading a repository', () => {
  it('returns the branch and the state of each file', async () => {
    const { path, folder } = repository({
      'a.txt': 'a\n', 'gone.txt': 'b\n', 'old name.txt': 'a long line to find again\n',
    })
    writeIn(folder, 'a.txt', 'changed\n')
    rmSync(join(folder, 'gone.txt'))
    gitIn(folder, 'mv', 'old name.txt', 'new name.txt')
    writeIn(folder, 'dir/new.txt', 'new')
    expect(await session.call({ action: 'status', path })).toEqual({
      branch: 'main', head: expect.stringMatching(HASH) as string, entries: [
        { path: 'a.txt', unstaged: 'modified' },
        { path: 'gone.txt', unstaged: 'deleted' },
        { path: 'new name.txt', from: 'old name.txt', staged: 'renamed' },
        { path: 'dir/', unstaged: 'untracked' },
      ],
    })
  })

  it('counts commits ahead and behind', async () => {
    const { folder } = repository()
    const path = `r${++made}`
    gitIn(workspace, 'clone', '-q', folder, path)
    gitIn(folder, 'commit', '-q', '--allow-empty', '-m', 'theirs')
    const clone = join(workspace, path)
    for (const subject of ['one', 'two']) gitIn(clone, 'commit', '-q', '--allow-empty', '-m', subject)
    gitIn(clone, 'fetch', '-q')
    expect(await session.call({ action: 'status', path })).toMatchObject({
      upstream: 'origin/main', ahead: 2, behind: 1, entries: [],
    })
  })

  it('reports conflicts, a detached head and a repository without commits', async () => {
    const { path, folder } = repository({ 'a.txt': 'base\n' })
    gitIn(folder, 'switch', '-q', '-c', 'other')
    writeIn(folder, 'a.txt', 'theirs\n')
    gitIn(folder, 'commit', '-qam', 'theirs')
    gitIn(folder, 'switch', '-q', 'main')
    writeIn(folder, 'a.txt', 'ours\n')
    gitIn(folder, 'commit', '-qam', 'ours')
    expect(() => gitIn(folder, 'merge', '-q', 'other')).toThrow('git merge')
    expect(await session.call({ action: 'status', path })).toMatchObject({
      entries: [{ path: 'a.txt', conflict: 'both_modified' }],
    })
    gitIn(folder, 'merge', '--abort')
    gitIn(folder, 'switch', '-q', '--detach', 'HEAD')
    expect(await session.call({ action: 'status', path })).toMatchObject({ branch: null })
    const empty = `r${++made}`
    gitIn(workspace, 'init', '-q', '-b', 'main', empty)
    expect(await session.call({ action: 'status', path: empty })).toEqual({ branch: 'main', head: null, entries: [] })
  })

  it('compares files, what is staged, and revisions', async () => {
    const { path, folder } = repository({ 'a.txt': 'a\n', 'b.txt': 'b\n' })
    writeIn(folder, 'a.txt', 'A\n')
    writeIn(folder, 'b.txt', 'B\n')
    gitIn(folder, 'add', 'b.txt')
    expect(await session.call({ action: 'diff', path })).toEqual({
      diff: expect.stringMatching(/^diff --git a\/a.txt b\/a.txt\n(?!.*b.txt)/s) as string,
    })
    expect(await session.call({ action: 'diff', path, staged: true })).toEqual({
      diff: expect.stringContaining('-b\n+B\n') as string,
    })
    expect(await session.call({ action: 'diff', path, revision: 'HEAD', paths: ['a.txt'] })).toEqual({
      diff: expect.not.stringContaining('b.txt') as string,
    })
  })

  it('lists commits, and shows one or a file of one', async () => {
    const { path, folder } = repository({ 'a.txt': 'one\n' })
    writeIn(folder, 'a.txt', 'two\n')
    gitIn(folder, 'commit', '-qam', 'second\n\nwith a body')
    const { commits } = await session.call({ action: 'log', path })
    expect(commits).toEqual([
      {
        hash: expect.stringMatching(HASH) as string, parents: [expect.stringMatching(HASH) as string], author: 'Ada',
        email: 'ada@example.org', date: expect.stringMatching(/^2026-01-02T03:04:05/) as string, subject: 'second',
      },
      expect.objectContaining({ subject: 'first', parents: [] }) as object,
    ])
    expect(await session.call({ action: 'log', path, max_count: 1 })).toMatchObject({
      commits: [{ subject: 'second' }],
    })
    expect(await session.call({ action: 'show', path })).toMatchObject({
      subject: 'second', body: 'with a body', diff: expect.stringContaining('-one\n+two\n') as string,
    })
    expect(await session.call({ action: 'show', path, revision: 'HEAD~1:a.txt' })).toEqual({ content: 'one\n' })
  })

  it('cuts a long diff and says so', async () => {
    const { path, folder } = repository({ 'a.txt': '' })
    writeIn(folder, 'a.txt', 'a line of text\n'.repeat(30_000))
    const { diff, truncated } = await walled.call({ action: 'diff', path })
    expect([truncated, (diff as string).length]).toEqual([true, 200 * 1024])
  })
})

describe('changing a repository', () => {
  it('works inside the wall', async () => {
    const { path, folder } = repository()
    writeIn(folder, 'a.txt', 'changed\n')
    await walled.call({ action: 'add', path, paths: ['.'] })
    expect(await walled.call({ action: 'commit', path, message: 'm' })).toMatchObject({
      author: 'Grace = H', subject: 'm',
    })
    expect(await walled.call({ action: 'branch', path, name: 'x', switch: true })).toMatchObject({
      branches: [{ name: 'main' }, { name: 'x', current: true }],
    })
  })

  it('adds and commits files, with the author from the environment', async () => {
    const { path, folder } = repository()
    writeIn(folder, 'a.txt', 'changed\n')
    writeIn(folder, '-n [x]*', 'odd name\n')
    expect(await session.call({ action: 'add', path, paths: ['-n [x]*', 'a.txt'] })).toMatchObject({
      entries: [{ path: '-n [x]*', staged: 'added' }, { path: 'a.txt', staged: 'modified' }],
    })
    const message = '# not a comment\n\n--amend is text'
    expect(await session.call({ action: 'commit', path, message })).toMatchObject({
      author: 'Grace = H', subject: '# not a comment',
    })
    expect(gitIn(folder, 'log', '-1', '--format=%B%an %ce')).toBe(`${message}\nGrace = H grace@example.org\n`)
    expect(await session.refusal({ action: 'commit', path, message })).toMatchObject({
      code: 'InputInvalid', message: expect.stringContaining('action add') as string,
    })
  })

  it('takes the author of the repository, and says what to do without one', async () => {
    const folder = repositoryIn(join(workspace, 'r'))
    writeIn(folder, 'a.txt', 'x')
    await nameless.call({ action: 'add', path: 'r', paths: ['.'] })
    expect(await nameless.refusal({ action: 'commit', path: 'r', message: 'm' })).toMatchObject({
      code: 'InputInvalid', message: expect.stringContaining('GIT_AUTHOR_NAME') as string,
    })
    gitIn(folder, 'config', 'user.name', 'Local')
    gitIn(folder, 'config', 'user.email', 'local@example.org')
    expect(await nameless.call({ action: 'commit', path: 'r', message: 'm' })).toMatchObject({ author: 'Local' })
  })

  it('lists, creates and switches branches', async () => {
    const { path, folder } = repository()
    expect(await session.call({ action: 'branch', path, name: 'next' })).toMatchObject({
      branches: [
        { name: 'main', current: true }, { name: 'next', current: false },
      ],
    })
    expect(await session.call({ action: 'branch', path, name: 'topic', switch: true, revision: 'next' })).toMatchObject(
      { branches: [{}, {}, { name: 'topic', current: true }] },
    )
    await session.call({ action: 'branch', path, name: 'main', switch: true })
    expect(gitIn(folder, 'branch', '--show-current')).toBe('main\n')
    expect(
      await session.refusal({ action: 'branch', path, name: 'main', switch: true, revision: 'next' }),
    ).toMatchObject({ code: 'InputInvalid' })
  })
})

describe('arguments', () => {
  let known: ReturnType<typeof repository> | undefined
  const shared = () => {
    known ??= repository()
    return known
  }

  it.each([
    [{ action: 'status', message: 'x' }, 'does not take "message"'],
    [{ action: 'commit' }, 'needs "message"'],
    [{ action: 'add' }, 'needs "paths"'],
    [{ action: 'branch', switch: true }, 'needs "name"'],
    [{ action: 'log', revision: '--output=x' }, 'is an option'],
    [{ action: 'branch', name: '-D' }, 'is an option'],
    [{ action: 'diff', paths: ['../../etc/passwd'] }, 'outside the repository'],
    [{ action: 'diff', paths: ['a.txt', '/etc/passwd'] }, 'outside the repository'],
  ])('refuses %j', async (args, message) => {
    const { path } = shared()
    expect(await session.refusal({ ...args, path })).toMatchObject({
      code: 'InputInvalid', message: expect.stringContaining(message) as string,
    })
  })

  const reasonOf = async (args: JsonObject): Promise<string> => {
    const { code, message } = await session.refusal(args)
    return `${code}: ${message}`
  }

  it.each<[JsonObject, string]>([
    [
      { action: 'show', revision: 'nowhere' },
      'NotFound: The repository has no revision "nowhere". List commits with the action log, and branches with branch.',
    ],
    [
      { action: 'log', revision: 'nowhere..HEAD' },
      'NotFound: The repository has no revision "nowhere..HEAD". List commits with the action log, and branches with '
        + 'branch.',
    ],
    [
      { action: 'show', revision: 'HEAD:b.txt' },
      'NotFound: "b.txt" does not exist in the revision "HEAD". Pass a path relative to the root of the repository.',
    ],
    [
      { action: 'add', paths: ['*.txt'] },
      'NotFound: There is no file "*.txt" to add. Nothing was added. A path is no pattern; pass "." for all files.',
    ],
    [
      { action: 'branch', name: 'a b' },
      'InputInvalid: "a b" is not a valid name of a branch. Leave out spaces, "..", "~", "^", ":", "?", "*" and "[".',
    ],
    [
      { action: 'branch', name: 'main' },
      'InputInvalid: The branch "main" exists already. Pass "switch": true to switch to it.',
    ],
  ])('names the cure for %j', async (args, reason) => {
    expect(await reasonOf({ ...args, path: shared().path })).toBe(reason)
  })

  it('names the cure for conflicts, and for changes that switching would lose', async () => {
    const { path, folder } = repository({ 'a.txt': 'base\n' })
    gitIn(folder, 'switch', '-q', '-c', 'other')
    writeIn(folder, 'a.txt', 'theirs\n')
    gitIn(folder, 'commit', '-qam', 'theirs')
    gitIn(folder, 'switch', '-q', 'main')
    writeIn(folder, 'a.txt', 'ours\n')
    expect(await reasonOf({ action: 'branch', path, name: 'other', switch: true })).toBe(
      'InputInvalid: Files have changes that git would overwrite: a.txt. Nothing was changed. Commit them first.',
    )
    gitIn(folder, 'commit', '-qam', 'ours')
    expect(() => gitIn(folder, 'merge', '-q', 'other')).toThrow('git merge')
    const reason = 'InputInvalid: Files have conflicts. Resolve them, stage the files with the action add, then commit.'
    expect(await reasonOf({ action: 'commit', path, message: 'm' })).toBe(reason)
    expect(await reasonOf({ action: 'branch', path, name: 'other', switch: true })).toBe(
      'InputInvalid: A merge is not finished. Commit it first.',
    )
  })

  it('says why a repository cannot be used', async () => {
    await walled.put('plain/file.txt')
    expect(await reasonOf({ action: 'status', path: 'plain' })).toBe('NotFound: "plain" does not belong to a git '
      + 'repository inside the workspace. Pass the folder of a repository as `path`, or create one with "git init".')
    gitIn(workspace, 'init', '-q', '--bare', 'bare')
    expect(await reasonOf({ action: 'status', path: 'bare' })).toBe('InputInvalid: "bare" is a bare repository, '
      + 'which has no files to work with. Clone it with repo_clone, and pass the folder of the clone as `path`.')
    const { path, folder } = repository()
    appendFileSync(join(folder, '.git/config'), '[broken')
    const broken = await reasonOf({ action: 'status', path })
    expect(broken).toMatch(/^InputInvalid: git cannot use the repository of "r\d+": bad config line \d+ in file /)
    expect(broken).toMatch(/ in file \S*\.git\/config\. Repair it, then try again\.$/)
    expect(await session.refusal({ action: 'status', path: '..' })).toMatchObject({ code: 'CapabilityDenied' })
  })

  it('finds no commits in a repository without any', async () => {
    gitIn(workspace, 'init', '-q', 'fresh')
    expect(await session.call({ action: 'log', path: 'fresh' })).toEqual({ commits: [] })
    expect(await reasonOf({ action: 'show', path: 'fresh' })).toMatch(
      /^NotFound: The repository has no revision "HEAD"\./,
    )
  })

  it('have the action and the folder as approval key, and need none to read', () => {
    const read = (args: Parameters<typeof readGitArguments>[0]) => readGitArguments(args, { workspace: '/w' })
    expect(
      [read({ action: 'status' }), read({ action: 'branch' }), read({ action: 'show', path: 'lib' })].map(
        ({ onlyReads }) => onlyReads,
      ),
    ).toEqual(['walled', 'walled', 'walled'])
    const written = [
      read({ action: 'commit', message: 'm' }), read({ action: 'add', path: 'lib', paths: ['x'] }),
      read({ action: 'branch', name: 'x', switch: true }),
    ]
    expect(written.map(({ key, onlyReads }) => [key, onlyReads])).toEqual([
      ['git commit', undefined], ['git add in lib', undefined], ['git switch', undefined],
    ])
    expect(written.map(({ effects }) => effects?.writes)).toEqual([
      [{ path: '/w/.git', below: true }],
      [
        { path: '/w/lib/.git', below: true }, { path: '/w/.git', below: true },
      ],
      [{ path: '/w', below: true }],
    ])
    expect(read({ action: 'diff', paths: ['a', '/w/b/../c'] }).effects?.reads).toEqual([
      { path: '/w/a', below: true }, { path: '/w/c', below: true },
    ])
    // The root of the repository may be above the folder.
    expect(read({ action: 'diff', path: 'lib', paths: ['a'] }).effects?.reads).toEqual([{ path: '/w', below: true }])
    expect(readGitArguments({ action: 'log', path: '/r/x' }, { workspace: '/w', roots: ['/r'] })).toMatchObject({
      onlyReads: 'walled', effects: { reads: [{ path: '/r' }] },
    })
    // After a link, .. leads to an unknown folder.
    expect(read({ action: 'status', path: 'a/../b' }).onlyReads).toBeUndefined()
    expect(read({ action: 'add', path: '../x', paths: ['y'] }).denies).toEqual([
      'the folder ../x is outside the workspace',
    ])
  })
})
