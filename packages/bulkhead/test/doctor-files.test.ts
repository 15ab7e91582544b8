import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { thoroughly } from '../../../scripts/thoroughly.ts'
import type { Check } from '../src/cli/system/doctor-check.ts'
import { inside } from './command-inside.ts'

let folder: string
beforeEach(() => { folder = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-doctor-files-'))) })
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const home = () => join(folder, 'home/.bulkhead')
function write(name: string, content: string): void {
  mkdirSync(dirname(join(home(), name)), { recursive: true })
  writeFileSync(join(home(), name), content)
}
const aFolder = (name: string) => void mkdirSync(join(home(), name), { recursive: true })
const aFile = (name: string) => write(name, 'not a folder')
function aLink(name: string): void {
  mkdirSync(dirname(join(home(), name)), { recursive: true })
  symlinkSync(join(folder, 'nowhere'), join(home(), name))
}
const problems = async (): Promise<readonly Check[]> => {
  const { code, stdout } = await inside(['doctor', '--json'], folder, { PATH: process.env['PATH'] })
  const found = (JSON.parse(stdout) as { readonly checks: readonly Check[] }).checks.filter(
    ({ status }) => status === 'problem',
  )
  expect(code).toBe(found.length > 0 ? 1 : 0)
  return found
}
/** Makes the store, as a call does. */
const store = async () => void await inside(['call', 'list', '--args', '{"path":"."}', '--mode', 'yolo'], folder)

const FAULTS: Readonly<Record<string, readonly [name: string, damage: (name: string) => unknown]>> = {
  'a configuration that is not JSON': ['config.json', (name) => write(name, '{')],
  'a configuration that is a folder': ['config.json', aFolder],
  'a lock that is not JSON': ['bulkhead.lock', (name) => write(name, '{')],
  'a trust file that is a folder': ['trust.jsonl', aFolder],
  'a trust file with a line that is not a decision': ['trust.jsonl', (name) => write(name, 'not a decision\n')],
  'a trust root that is not JSON': ['trust-root.json', (name) => write(name, '{')],
  'a store that is no database': ['bulkhead.db', (name) => write(name, 'no database')],
  'a store that is a link': ['bulkhead.db', aLink],
  'a record of changes that is no database': [
    'bulkhead.db-undo',
    async (name) => {
      await store()
      write(name, 'no database')
    },
  ],
  'a record of changes that is a folder': [
    'bulkhead.db-undo',
    async (name) => {
      await store()
      aFolder(name)
    },
  ],
  'a record of changes without a store': ['bulkhead.db-undo', (name) => write(name, 'no database')],
  'a call journal that is a folder': [
    'bulkhead.db-notes-1-1-x',
    async (name) => {
      await store()
      aFolder(name)
    },
  ],
  'unfinished changes in a file': ['changes', aFile],
  'an unfinished change that cannot be read': ['changes/999999999-1-x.committed', aFolder],
  'an unfinished change that is not JSON': ['changes/999999999-1-x.committed', (name) => write(name, '{')],
  'tools in a file': ['tools', aFile],
  'agents in a file': ['agents', aFile],
  'an agent that is not JSON': ['agents/reviewer.json', (name) => write(name, '{')],
  'kits in a file': ['kits', aFile],
  'a kit that is not YAML': ['kits/mine.yaml', (name) => write(name, ': :')],
  'a kit that is a folder': ['kits/mine.yaml', aFolder],
  'a kit that is a dangling link': ['kits/mine.yaml', aLink],
  'guidance in a file': ['guidance', aFile],
  'guidance that is not YAML': ['guidance/read.yaml', (name) => write(name, ': :')],
  'a cache in a file': ['cache', aFile],
  'data in a file': ['data', aFile],
  'tokens in a file': ['oauth', aFile],
  'a token that is not JSON': [
    'oauth/0.json',
    (name) => {
      write(name, '{')
      chmodSync(join(home(), name), 0o600)
    },
  ],
  'a token that others can read': [
    'oauth/0.json',
    (name) => {
      write(name, '{}')
      chmodSync(join(home(), name), 0o644)
    },
  ],
  ...Object.fromEntries(
    [
      'bulkhead.lock', 'trust.jsonl', 'trust-root.json', 'tools', 'agents', 'kits', 'guidance', 'changes', 'cache',
      'data', 'oauth',
    ].map((name) => [`a link that leads nowhere: ${name}`, [name, aLink] as const]),
  ),
}

/** A sixth of the files. `pnpm soak` damages all of them. */
const checked = Object.keys(FAULTS).filter((_, index) => index % thoroughly(6, 1) === 0)
it.each(checked)('names %s', async (title) => {
  const [name, damage] = FAULTS[title]!
  await damage(name)
  expect((await problems()).map(({ found }) => found).join('\n')).toContain(join(home(), name))
})
