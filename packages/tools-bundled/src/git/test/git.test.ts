// @module-tag git
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { LONG } from '../../../../../scripts/thoroughly.ts'
import { gitIn, repositoryIn, writeIn } from './repository.ts'
import { unwalledTool } from './unwalled-tool.ts'
import { gitSession } from './git-session.ts'

const { newName, repository, session, walled, workspace } = gitSession()
const nameless = unwalledTool(workspace, {})
const HASH = /^[0-9a-f]{40}$/

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

  it('counts commits ahead and behind', LONG, async () => {
    const { folder } = repository()
    const path = newName()
    gitIn(workspace, 'clone', '-q', folder, path)
    gitIn(folder, 'commit', '-q', '--allow-empty', '-m', 'theirs')
    const clone = join(workspace, path)
    for (const subject of ['one', 'two']) gitIn(clone, 'commit', '-q', '--allow-empty', '-m', subject)
    gitIn(clone, 'fetch', '-q')
    expect(await session.call({ action: 'status', path })).toMatchObject({
      upstream: 'origin/main', ahead: 2, behind: 1, entries: [],
    })
  })

  it('reports conflicts, a detached head and a repository without commits', LONG, async () => {
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
    const empty = newName()
    gitIn(workspace, 'init', '-q', '-b', 'main', empty)
    expect(await session.call({ action: 'status', path: empty })).toEqual({ branch: 'main', head: null, entries: [] })
  })

  it('compares files, what is staged, and revisions', LONG, async () => {
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

  it('cuts a long diff and says so', LONG, async () => {
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

  it('takes the author of the repository, and says what to do without one', LONG, async () => {
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

  it('lists, creates and switches branches', LONG, async () => {
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
