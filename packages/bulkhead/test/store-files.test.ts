import {
  existsSync, mkdirSync, mkdtempSync, readdirSync, realpathSync, renameSync, rmSync, writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { JsonObject } from '@bulkhead/kit/json'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { needs } from '../../../scripts/machine.ts'
import { createHost, openSqliteStore, type Host } from '../src/index.ts'
import { CACHE } from './cache.ts'
import { IN_THREADS, writeExtension } from './extension-folder.ts'

let root: string
let workspace: string
let host: Host
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-store-files-')))
  workspace = join(root, 'workspace')
  mkdirSync(workspace)
})
afterEach(async () => {
  await host.close()
  rmSync(root, { recursive: true })
})

const CODE = `const execute = ({ how, path }, { fs }) => how === 'put' ? fs.write(path, 'x') : fs.remove(path)
  export default { tools: { act: { execute } } }`

/** A host with a store in the workspace, and a tool that may write everything there. */
async function open(file = 'agent.db') {
  const home = join(root, 'home')
  writeExtension(
    home, { id: 'writer', tools: [{ name: 'act', requires: { fs: { write: ['{workspace}/**'] } } }] }, CODE,
  )
  const store = await openSqliteStore({ file: join(workspace, file) })
  host = await createHost({ workspace, home, cache: CACHE, store, config: { ...IN_THREADS, audit: { enabled: true } } })
  const session = await host.openSession({ mode: 'yolo' })
  const run = async (name: string, args: JsonObject) => {
    const outcome = await session.call({ id: crypto.randomUUID(), name, arguments: args })
    return outcome.type === 'output'
      ? `done ${JSON.stringify(outcome.data)}`
      : `${outcome.error.code}: ${outcome.error_text}`
  }
  // Now every file of the store exists.
  expect(await run('write', { path: 'a.txt', content: 'a' })).toMatch(/^done/)
  await host.flush()
  return {
    run, explain: (name: string, args: JsonObject) => session.explain({ id: 'explained', name, arguments: args }),
  }
}

const storeFiles = (folder = workspace) => readdirSync(folder).filter((name) => name.startsWith('agent.db'))

describe('the files of a store in the workspace', () => {
  it('cannot be written or removed by a tool, nor created', async () => {
    const { run, explain } = await open()
    expect(storeFiles()).toEqual(
      expect.arrayContaining(['agent.db', 'agent.db-wal', 'agent.db-shm', 'agent.db-undo', 'agent.db-end']),
    )
    expect(storeFiles().some((name) => name.startsWith('agent.db-notes-'))).toBe(true)
    for (const path of [...storeFiles(), 'agent.db-journal', 'agent.db-notes-other', 'AGENT.DB']) {
      expect(await run('act', { how: 'put', path })).toMatch(/^CapabilityDenied: .*no tool writes/)
      expect(await run('act', { how: 'remove', path })).toMatch(/^CapabilityDenied: .*no tool writes/)
    }
    for (const path of ['agent.db', 'agent.db-undo', `${workspace}/agent.db-journal`]) {
      for (const [name, args] of [
        ['write', { path, content: 'x' }], ['bash', { command: `echo x > ${path}` }],
      ] as const) {
        expect(await run(name, args), JSON.stringify(args)).toMatch(/^WatchdogDenied: .*no tool writes/)
        expect(await explain(name, args)).toMatchObject({ decision: 'deny', code: 'WatchdogDenied' })
      }
    }
    for (const path of ['agent.dbx', 'sub/agent.db']) expect(await run('act', { how: 'put', path })).toMatch(/^done/)
  })

  it('cannot be removed, replaced or moved by a command in the sandbox', needs('bubblewrap'), async () => {
    const { run } = await open('data/store/agent.db')
    const before = storeFiles(join(workspace, 'data/store'))
    for (const command of [
      'for f in data/store/agent.d*; do rm -f "$f"; done', 'cd data && for d in store; do rm -rf "$d"; done',
      'for d in data; do mv "$d" gone; done', 'cd data && for d in store; do mv "$d" gone; done',
      'for f in data/store/agent.d*; do echo x > "$f"; done',
    ]) {
      await run('bash', { command })
      expect(storeFiles(join(workspace, 'data/store')), command).toEqual(before)
    }
    expect(
      await run('bash', { command: 'echo kept > data/store/mine.txt && mv a.txt b.txt && cat data/store/mine.txt' }),
    ).toMatch(/^done .*kept/)
    expect(await run('act', { how: 'put', path: 'c.txt' })).toMatch(/^done/)
  })
})

describe('a store that is lost while its host runs', () => {
  const lose = {
    'the database is removed': () => rmSync(join(workspace, 'agent.db')),
    'the log is removed': () => rmSync(join(workspace, 'agent.db-wal')),
    'all files are removed': () => storeFiles().forEach((name) => rmSync(join(workspace, name))),
    'the database is replaced': () => {
      rmSync(join(workspace, 'agent.db'))
      writeFileSync(join(workspace, 'agent.db'), '')
    },
    'the journal of calls is removed': () =>
      storeFiles()
        .filter((name) => name.includes('-notes-'))
        .forEach((name) => rmSync(join(workspace, name))),
    'the folder is moved': () => renameSync(workspace, `${workspace}-moved`),
  }
  it.each(Object.entries(lose))('%s: calls are not run', async (_, act) => {
    const { run } = await open()
    act()
    // The log is looked for as often as the audit is written.
    await expect.poll(() => run('read', { path: 'a.txt' })).toMatch(/^StoreUnavailable: .*was removed or moved/)
    expect(await run('act', { how: 'put', path: 'late.txt' })).toMatch(/^StoreUnavailable: .*was removed or moved/)
    expect(existsSync(join(workspace, 'late.txt'))).toBe(false)
  })
})
