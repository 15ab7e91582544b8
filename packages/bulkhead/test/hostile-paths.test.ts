import { execFileSync } from 'node:child_process'
import {
  linkSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createHost, type Host, type Session } from '../src/index.ts'
import { CACHE } from './cache.ts'

const CANARY = 'the canary sings'
const REFUSALS: ReadonlySet<string> = new Set(['CapabilityDenied', 'NotFound', 'InputInvalid', 'ApprovalKeyInvalid'])
let top: string
let host: Host
let session: Session

beforeAll(async () => {
  top = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-paths-')))
  for (const folder of ['ws/docs', 'ws_evil', 'outside/deep']) mkdirSync(join(top, folder), { recursive: true })
  for (const file of ['ws_evil/secret.txt', 'outside/secret.txt', 'outside/deep/secret.txt'])
    writeFileSync(join(top, file), CANARY)
  writeFileSync(join(top, 'ws/docs/mine.txt'), 'mine')
  for (const [name, target] of [
    ['file-link', '../outside/secret.txt'], ['folder-link', join(top, 'outside')], ['chain', 'folder-link'],
    ['up', '..'], ['loop', 'loop'], ['dangling', join(top, 'outside/new.txt')], ['root', '/proc/self/root'],
    ['fds', '/proc/self/fd'], ['device', '/dev/zero'], ['docs/back', '../../ws_evil'],
  ] as const)
    symlinkSync(target, join(top, 'ws', name))
  execFileSync('mkfifo', [join(top, 'ws/pipe')])
  host = await createHost({ workspace: join(top, 'ws'), home: join(top, 'home'), cache: CACHE, trust: 'declined' })
  session = await host.openSession({ mode: 'yolo' })
})
afterAll(async () => {
  await host.close()
  rmSync(top, { recursive: true })
})

const outside = (): unknown[] =>
  ['ws_evil', 'outside', 'outside/deep'].flatMap((folder) =>
    readdirSync(join(top, folder), { withFileTypes: true }).map((entry) => [
      entry.name, entry.isFile() ? readFileSync(join(top, folder, entry.name), 'utf8') : '',
    ]),
  )

/** Paths that lead out of a folder. */
const WAYS: readonly (readonly [string, () => string])[] = [
  ['a folder whose name has the same prefix', () => '../ws_evil/secret.txt'],
  ['an absolute path with the same prefix', () => join(top, 'ws_evil/secret.txt')],
  ['parent segments', () => 'docs/../../outside/secret.txt'],
  ['many parent segments', () => `${'../'.repeat(40)}etc/passwd`],
  ['a double slash', () => '//etc/passwd'],
  ['a link to a file', () => 'file-link'],
  ['a link to a folder', () => 'folder-link/secret.txt'],
  ['a link to a link', () => 'chain/deep/secret.txt'],
  ['a link to the parent', () => 'up/outside/secret.txt'],
  ['a link in a folder', () => 'docs/back/secret.txt'],
  ['a new file behind a link', () => 'folder-link/new.txt'],
  ['a new folder behind a link', () => 'folder-link/made/new.txt'],
  ['a dangling link', () => 'dangling'],
  ['a link to itself', () => 'loop'],
  ['a link to /proc/self/root', () => `root${top}/outside/secret.txt`],
  ['/proc/self/root', () => `/proc/self/root${top}/outside/secret.txt`],
  ['open file descriptors', () => 'fds/0'],
  ['/proc/self/environ', () => '/proc/self/environ'],
  ['a device', () => 'device'],
  ['a pipe without a writer', () => 'pipe'],
  ['a URL', () => `file://${top}/outside/secret.txt`],
  ['a null byte', () => `../outside/secret.txt\0.md`],
  ['a tilde', () => '~/.ssh/id_rsa'],
  ['a variable', () => '$HOME/.ssh/id_rsa'],
  ['a trailing slash', () => 'file-link/'],
  ['a lone surrogate', () => '\ud800'],
  ['a path that is too long', () => 'x/'.repeat(5_000)],
]

it.each(WAYS)('no tool leaves its workspace through %s', async (_, way) => {
  const before = outside()
  const path = way()
  for (const [name, args] of [
    ['read', { path }], ['read', { path, byte_start: 0, byte_end: 10 }],
    ['edit', { path, old_string: 'canary', new_string: 'cat' }],
    [
      'write',
      {
        path: path.startsWith('~') || path.startsWith('$') || path.startsWith('file:') ? `../${path}` : path,
        content: 'gone',
      },
    ],
    ['grep', { pattern: 'canary|root', path }], ['glob', { pattern: '**', path }], ['glob', { pattern: path }],
  ] as const) {
    const outcome = await session.call({ id: crypto.randomUUID(), name, arguments: args })
    const text = JSON.stringify(outcome)
    expect(text).not.toContain(CANARY)
    expect(text).not.toContain('root:x:0:0')
    if (outcome.type === 'error')
      expect(REFUSALS.has(outcome.error.code), `${name}: ${outcome.error.code} ${outcome.error_text}`).toBe(true)
    // A search may also find nothing.
    else expect(outcome.data, name).toMatchObject({ total: 0 })
  }
  expect(outside()).toEqual(before)
})

it('writing or editing a hard link does not change the file outside', async () => {
  linkSync(join(top, 'outside/secret.txt'), join(top, 'ws/hard.txt'))
  const before = outside()
  expect(
    await session.call({
      id: 'edit', name: 'edit', arguments: { path: 'hard.txt', old_string: 'canary', new_string: 'cat' },
    }),
  ).toMatchObject({ type: 'output' })
  expect(
    await session.call({ id: 'write', name: 'write', arguments: { path: 'hard.txt', content: 'mine' } }),
  ).toMatchObject({ type: 'output' })
  expect(outside()).toEqual(before)
})
