import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { createHost } from '../src/index.ts'
import { shareVerified } from './cache.ts'
import { IN_THREADS, writeExtension } from './extension-folder.ts'

/** The workspace is the home folder of the user, which contains the folder of the host. */
let home: string
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'bulkhead-own-'))
  mkdirSync(join(home, '.bulkhead'))
  writeFileSync(join(home, '.bulkhead/config.json'), '{"mode":"ask"}')
  shareVerified(join(home, '.bulkhead'))
})
afterEach(() => {
  vi.unstubAllEnvs()
  rmSync(home, { recursive: true })
})

const WRITER = `export default { tools: {
  put: { execute: ({ path }, runtime) => runtime.fs.write(path, '{"mode":"yolo"}') },
  get: { execute: ({ path }, runtime) => runtime.fs.readText(path) },
} }`
const requires = { fs: { read: ['{workspace}/**', '{user-data}/**'], write: ['{workspace}/**', '{user-data}/**'] } }

it('no tool can access the files of the host, with any grant', async () => {
  writeExtension(
    join(home, '.bulkhead'),
    {
      id: 'writer',
      tools: [
        { name: 'put', requires }, { name: 'get', requires },
      ],
    },
    WRITER,
  )
  const host = await createHost({ workspace: home, home: join(home, '.bulkhead'), config: IN_THREADS })
  const session = await host.openSession({ mode: 'yolo' })
  const run = async (name: string, path: string) => {
    const outcome = await session.call({ id: `${name} ${path}`, name, arguments: { path } })
    return outcome.type === 'output' ? 'done' : outcome.error.code
  }
  for (const path of [
    '.bulkhead/config.json', '.bulkhead/bulkhead.lock', '.bulkhead/tools/x/index.js', `${home}/.bulkhead/x`,
    './x/../.bulkhead/y',
  ]) {
    expect(await run('put', path), path).toBe('CapabilityDenied')
  }
  expect(await run('get', '.bulkhead/config.json')).toBe('CapabilityDenied')
  expect(await run('put', 'notes.txt')).toBe('done')
  expect(await run('put', `${home}/.bulkhead/data/mine.json`)).toBe('done')
  await host.close()
  expect(readFileSync(join(home, '.bulkhead/config.json'), 'utf8')).toBe('{"mode":"ask"}')
})

it('no tool reaches the compile cache of the command', async () => {
  vi.stubEnv('XDG_CACHE_HOME', join(home, 'link/.cache'))
  symlinkSync(home, join(home, 'link'))
  const host = await createHost({ workspace: home, home: join(home, '.bulkhead') })
  const session = await host.openSession({ mode: 'yolo' })
  const write = async (path: string) => {
    const outcome = await session.call({ id: path, name: 'write', arguments: { path, content: 'x' } })
    return outcome.type === 'output' ? 'done' : outcome.error.code
  }
  expect(await write('.cache/bulkhead/code/x')).toBe('CapabilityDenied')
  expect(await write('.cache/other')).toBe('done')
  await host.close()
})

it('no command reaches the files of the host through a redirection', async () => {
  const host = await createHost({ workspace: home, home: join(home, '.bulkhead') })
  const session = await host.openSession({ mode: 'yolo' })
  const run = async (command: string) => {
    const outcome = await session.call({ id: command, name: 'bash', arguments: { command } })
    return outcome.type === 'output' ? 'done' : outcome.error.code
  }
  for (const command of [
    'echo yolo > .bulkhead/config.json', 'echo yolo >> .bulkhead/config.json', 'cat < .bulkhead/config.json',
    'cd .bulkhead && echo yolo > config.json',
  ])
    expect(await run(command), command).not.toBe('done')
  expect(await run('echo mine > notes.txt')).toBe('done')
  await host.close()
  expect(readFileSync(join(home, '.bulkhead/config.json'), 'utf8')).toBe('{"mode":"ask"}')
})

it('no search finds files of the host', async () => {
  writeFileSync(join(home, 'mine.json'), '{"mode":"mine"}')
  const host = await createHost({ workspace: home, home: join(home, '.bulkhead') })
  const session = await host.openSession({ mode: 'yolo' })
  const found = async (name: string, args: object) => {
    const outcome = await session.call({ id: JSON.stringify(args), name, arguments: args })
    return JSON.stringify(outcome.type === 'output' ? outcome.data : outcome.error.code)
  }
  for (const [name, args] of [
    ['grep', { pattern: 'mode' }], ['grep', { pattern: 'mode', output_mode: 'files' }],
    ['grep', { pattern: 'mode', output_mode: 'count' }], ['glob', { pattern: '**/*.json' }],
    ['glob', { pattern: '**' }],
  ] as const) {
    const answer = await found(name, args)
    expect(answer).toContain('mine.json')
    expect(answer).not.toContain('.bulkhead')
  }
  await host.close()
})
