// @module-tag git
import { spawnSync } from 'node:child_process'
import { hash } from 'node:crypto'
import {
  cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, renameSync, rmSync, symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { JsonObject } from '@bulkhead/kit/json'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { thoroughly } from '../../../../../scripts/thoroughly.ts'
import { configure, gitIn, repositoryIn, writeIn } from './repository.ts'
import { unwalledTool } from './unwalled-tool.ts'

const root = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-git-attack-')))
const marker = join(root, 'ran')
const evil = join(root, 'evil')
writeFileSync(evil, `#!/bin/sh\ntouch ${marker}\ncat 2>/dev/null </dev/stdin\ntrue\n`, { mode: 0o755 })
afterAll(() => rmSync(root, { recursive: true }))
const template = repositoryIn(join(root, 'template'), { 'a.txt': 'one\n' })
let made = 0
let workspace: string
beforeEach(() => {
  workspace = join(root, `w${++made}`)
  cpSync(template, workspace, { recursive: true })
  writeIn(workspace, 'a.txt', 'two\n')
  rmSync(marker, { force: true })
})

/** Calls the tool without a wall. */
const unwalled = (args: JsonObject): Promise<JsonObject> => unwalledTool(workspace).call(args)
const set = (...settings: readonly string[]): void => {
  for (const setting of settings) configure(workspace, ...setting.split(/=(.*)/s).slice(0, 2) as [string, string])
}
const attributes = (text: string): void => {
  writeIn(workspace, '.git/info/attributes', `${text}\n`)
}
const hook = (folder: string, name: string): void => {
  mkdirSync(join(workspace, folder), { recursive: true })
  writeFileSync(join(workspace, folder, name), `#!/bin/sh\ntouch ${marker}\n`, { mode: 0o755 })
}
/** What a person would run. Shows that the attack works. */
const plain = (...args: readonly string[]): void => {
  spawnSync('git', ['-c', 'user.name=a', '-c', 'user.email=b', ...args], {
    cwd: workspace, env: { ...process.env, HOME: '/dev/null' }, input: '',
  })
}
const COMMIT = ['commit', '-m', 'm']
/** Each attack starts git several times. `pnpm soak` runs all of them. */
const sampleOf = <Attack,>(attacks: readonly Attack[]): readonly Attack[] =>
  attacks.filter((_, at) => at % thoroughly(5, 1) === 0)

describe('a program that a repository names does not run', () => {
  it.each(
    sampleOf<[string, () => void, readonly string[], JsonObject]>([
      ['core.fsmonitor', () => set(`core.fsmonitor=${evil}`), ['status'], { action: 'status' }],
      ['diff.external', () => set(`diff.external=${evil}`), ['diff'], { action: 'diff' }],
      [
        'an included file',
        () => {
          writeIn(workspace, '.git/more', `[diff]\n\texternal = ${evil}\n`)
          set('include.path=more')
        },
        ['diff'], { action: 'diff' },
      ],
      ['a diff driver', () => [attributes('* diff=x'), set(`diff.x.command=${evil}`)], ['diff'], { action: 'diff' }],
      ['textconv', () => [attributes('* diff=x'), set(`diff.x.textconv=${evil}`)], ['show'], { action: 'show' }],
      [
        'a clean filter', () => [attributes('* filter=x'), set(`filter.x.clean=${evil}`, 'filter.x.required=true')],
        ['status'], { action: 'status' },
      ],
      [
        'a process filter', () => [attributes('* filter=x'), set(`filter.x.process=${evil}`)], ['diff'],
        { action: 'diff' },
      ],
      [
        'a smudge filter',
        () => [
          gitIn(workspace, 'checkout', '-q', '.'), plain('branch', 'b', 'HEAD'), gitIn(workspace, 'rm', '-q', 'a.txt'),
          plain(...COMMIT), attributes('* filter=x'), set(`filter.x.smudge=${evil}`),
        ],
        ['switch', 'b'], { action: 'branch', name: 'b', switch: true },
      ],
      [
        'hooks', () => [hook('.git/hooks', 'pre-commit'), plain('add', '.')], COMMIT,
        { action: 'commit', message: 'm' },
      ],
      [
        'core.hooksPath', () => [hook('.githooks', 'post-commit'), set('core.hooksPath=.githooks'), plain('add', '.')],
        COMMIT, { action: 'commit', message: 'm' },
      ],
      [
        'a hook of refs', () => hook('.git/hooks', 'reference-transaction'), ['branch', 'x'],
        { action: 'branch', name: 'x' },
      ],
      [
        'gpg.program', () => [set('commit.gpgSign=true', `gpg.program=${evil}`), plain('add', '.')], COMMIT,
        { action: 'commit', message: 'm' },
      ],
      [
        'core.editor', () => [set(`core.editor=${evil}`), plain('add', '.')], [...COMMIT, '--edit'],
        { action: 'commit', message: 'm' },
      ],
      [
        'a submodule',
        () => {
          repositoryIn(join(workspace, 'sub'))
          gitIn(workspace, 'add', 'sub')
          configure(join(workspace, 'sub'), 'core.fsmonitor', evil)
        },
        ['status'], { action: 'status' },
      ],
    ]),
  )('does not run through %s', async (_, prepare, command, call) => {
    prepare()
    rmSync(marker, { force: true })
    const copy = join(root, `copy${made}`)
    if (thoroughly(false, true)) spawnSync('cp', ['-r', workspace, copy])
    await unwalled(call)
    expect(existsSync(marker)).toBe(false)
    if (!existsSync(copy)) return
    rmSync(workspace, { recursive: true })
    renameSync(copy, workspace)
    plain(...command)
    expect(existsSync(marker), 'the attack works with plain git').toBe(true)
  })

  /** A submodule with settings of its own, which those for the repository around it do not override. */
  const withSubmodule = (): void => {
    repositoryIn(join(workspace, 'sub'))
    gitIn(workspace, 'add', 'sub')
    gitIn(workspace, 'commit', '-qm', 'with submodule')
    gitIn(workspace, 'branch', 'other')
    configure(join(workspace, 'sub'), 'filter.x.clean', evil)
    writeIn(workspace, 'sub/.git/info/attributes', '* filter=x\n')
    writeIn(workspace, 'sub/a.txt', 'changed\n')
    writeIn(workspace, 'new.txt', 'new\n')
    rmSync(marker, { force: true })
  }

  it.each(
    sampleOf<JsonObject>([
      { action: 'status' }, { action: 'diff' }, { action: 'diff', revision: 'HEAD' }, { action: 'diff', staged: true },
      { action: 'add', paths: ['.'] }, { action: 'add', paths: ['new.txt'] }, { action: 'commit', message: 'm' },
      { action: 'branch', name: 'other', switch: true }, { action: 'show' }, { action: 'log', paths: ['sub'] },
    ]),
  )('does not run if a submodule names it: %j', async (call) => {
    withSubmodule()
    if (call['action'] === 'commit') plain('add', 'new.txt')
    rmSync(marker, { force: true })
    await unwalled(call)
    expect(existsSync(marker)).toBe(false)
    if (call['action'] === 'add') expect(gitIn(workspace, 'diff', '--cached', '--name-only')).toContain('new.txt')
  })

  it('does not run if an embedded repository names it', async () => {
    withSubmodule()
    gitIn(workspace, 'rm', '-q', '--cached', 'sub')
    rmSync(marker, { force: true })
    await unwalled({ action: 'add', paths: ['.'] })
    await unwalled({ action: 'status' })
    expect(existsSync(marker)).toBe(false)
  })

  it('a submodule is left out of what is added, and refused by name', async () => {
    withSubmodule()
    expect(await unwalled({ action: 'add', paths: ['.'] })).toMatchObject({ submodules_left_out: ['sub'] })
    for (const path of ['sub', 'sub/a.txt']) {
      await expect(unwalled({ action: 'add', paths: [path] })).rejects.toMatchObject({
        code: 'InputInvalid', message: expect.stringContaining(`"${path}" belongs to a submodule`) as string,
      })
    }
    expect(existsSync(marker)).toBe(false)
  })

  it('a filter that applies to an added file is named, and nothing is added', async () => {
    attributes('*.txt filter=x')
    writeIn(workspace, 'sub/c.txt', 'new')
    await expect(unwalled({ action: 'add', paths: ['sub'] })).rejects.toMatchObject({
      message: expect.stringContaining('sub/c.txt') as string,
    })
    rmSync(join(workspace, 'sub'), { recursive: true })
    set(`filter.x.clean=${evil}`)
    await expect(unwalled({ action: 'add', paths: ['.'] })).rejects.toMatchObject({
      code: 'InputInvalid', message: expect.stringContaining('a.txt') as string,
    })
    expect([existsSync(marker), gitIn(workspace, 'diff', '--cached', '--name-only')]).toEqual([false, ''])
    attributes('*.bin filter=x')
    expect(await unwalled({ action: 'add', paths: ['.'] })).toMatchObject({
      entries: [{ path: 'a.txt', staged: 'modified' }],
    })
  })

  it.each([
    ['hook.x.command', () => set(`hook.x.command=${evil}`)],
    ['remote.origin.promisor', () => set('remote.origin.promisor=true', `remote.origin.url=ext::${evil}`)],
    [
      'filter.a=b.clean',
      () =>
        writeIn(
          workspace, '.git/config',
          `${readFileSync(join(workspace, '.git/config'), 'utf8')}[filter "a=b"]\n\tclean = ${evil}\n`,
        ),
    ],
  ])('the setting %s is refused', async (name, prepare) => {
    prepare()
    await expect(unwalled({ action: 'status' })).rejects.toMatchObject({
      code: 'InputInvalid', message: expect.stringContaining(`"${name}"`) as string,
    })
  })
})

describe('a repository cannot lead out of the workspace', () => {
  const outside = repositoryIn(join(root, 'outside'), { 'secret.txt': 'precious\n' })
  /** A path in the index that git would follow. */
  const poison = (path: string): void => {
    const index = join(workspace, '.git/index')
    const long = 'x'.repeat(path.length)
    writeIn(workspace, long, 'old\n')
    gitIn(workspace, 'add', long)
    const bytes = readFileSync(index)
    bytes.write(path, bytes.indexOf(long))
    const body = bytes.subarray(0, -20)
    writeFileSync(index, Buffer.concat([body, hash('sha1', body, 'buffer')]))
  }

  it.each(
    sampleOf<[string, () => void, JsonObject, string, string]>([
      [
        'core.worktree', () => set(`core.worktree=${outside}`), { action: 'diff' }, 'NotFound',
        'not inside the workspace',
      ],
      [
        'a gitdir file',
        () => {
          rmSync(join(workspace, '.git'), { recursive: true })
          writeIn(workspace, '.git', `gitdir: ${outside}/.git\n`)
        },
        { action: 'show' }, 'NotFound', 'not inside the workspace',
      ],
      [
        'a linked .git',
        () => {
          rmSync(join(workspace, '.git'), { recursive: true })
          symlinkSync(join(outside, '.git'), join(workspace, '.git'))
        },
        { action: 'show' }, 'NotFound', 'not inside the workspace',
      ],
      [
        'linked objects',
        () => {
          rmSync(join(workspace, '.git/objects'), { recursive: true })
          symlinkSync(join(outside, '.git/objects'), join(workspace, '.git/objects'))
        },
        { action: 'log' }, 'InputInvalid', 'objects" is a link',
      ],
      [
        'alternates', () => writeIn(workspace, '.git/objects/info/alternates', `${outside}/.git/objects\n`),
        { action: 'show', revision: gitIn(outside, 'rev-parse', 'HEAD').trim() }, 'InputInvalid', 'alternates',
      ],
      [
        'an absolute path in the index', () => poison(join(outside, 'secret.txt')), { action: 'diff' }, 'InputInvalid',
        'secret.txt',
      ],
      [
        'a relative path in the index', () => poison('../outside/secret.txt'), { action: 'diff' }, 'InputInvalid',
        '../outside/secret.txt',
      ],
      ['a path into .git', () => poison('.GIT/hooks/x'), { action: 'status' }, 'InputInvalid', '.GIT/hooks/x'],
      [
        'a repository above', () => rmSync(join(workspace, '.git'), { recursive: true }), { action: 'log' }, 'NotFound',
        'repository',
      ],
    ]),
  )('nothing outside is read by %s', async (_, prepare, call, code, message) => {
    prepare()
    await expect(unwalled(call)).rejects.toMatchObject({ code, message: expect.stringContaining(message) as string })
  })

  it('git does not compare other files, whatever the paths are', async () => {
    for (const paths of [['../outside/secret.txt', 'a.txt'], [join(outside, 'secret.txt'), 'a.txt']]) {
      await expect(unwalled({ action: 'diff', paths })).rejects.toMatchObject({ code: 'InputInvalid' })
    }
    expect(
      await unwalled({ action: 'diff', paths: [':(top)../outside/secret.txt'] }).catch(
        ({ code }: { code: string }) => code,
      ),
    ).not.toMatchObject({ diff: expect.stringContaining('precious') as string })
  })
})
