// @module-tag git
import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import type { JsonObject } from '@bulkhead/kit/json'
import { describe, expect, it } from 'vitest'
import { LONG } from '../../../../../scripts/thoroughly.ts'
import { readGitArguments } from '../git-arguments.ts'
import { gitIn, writeIn } from './repository.ts'
import { gitSession } from './git-session.ts'

const { repository, session, walled, workspace } = gitSession()

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

  it('names the cure for conflicts, and for changes that switching would lose', LONG, async () => {
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
