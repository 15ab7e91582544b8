import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Report } from '@bulkhead/conformance'
import { BulkheadError, type Manifest } from '@bulkhead/contract'
import { afterEach, beforeEach, expect, it, onTestFinished } from 'vitest'
import { thoroughly } from '../../../scripts/thoroughly.ts'
import { removeUnused } from '../src/cli/publish/conformance-fix.ts'

let folder: string
beforeEach(() => { folder = mkdtempSync(join(tmpdir(), 'bulkhead-fix-')) })
afterEach(() => rmSync(folder, { recursive: true }))

/** Written in an unusual way, which must stay. */
const MANIFEST = `{ "id": "sample",   "env": ["LANG",  "HOME"],
\t"secrets": [ { "name": "KEY", "hosts": ["a.example"] } ],
  "stateSlot": { "slotVersion": "1", "schema": {} },
  "tools": [
    { "name": "one", "requires": {
      "fs": { "read": ["docs/**"], "write": ["out/**", "tmp/**"] }, "shell": [{ "cmd": "git", "args": ["log"] }] } },
    { "name": "two", "requires": { "net": { "hosts": ["a.example", "*.b.example"] } }, "gated": true }
  ] }
`
const UNUSED = {
  tools: new Map([
    ['one', { fs: { read: ['docs/**'], write: ['out/**'] }, shell: [{ cmd: 'git', args: ['log'] }] }],
    ['two', { net: { hosts: ['*.b.example'] } }],
  ]),
  env: ['HOME'], secrets: ['KEY'], state: true,
}
const FIXED = `{ "id": "sample",   "env": ["LANG"],
  "tools": [
    { "name": "one", "requires": {
      "fs": { "write": ["tmp/**"] } } },
    { "name": "two", "requires": { "net": { "hosts": ["a.example"] } }, "gated": true }
  ] }
`
const verify = async (): Promise<void> => undefined
/** Members in another order than the file has. */
const extension = {
  manifest: JSON.parse(
    MANIFEST.replace('"name": "KEY", "hosts": ["a.example"]', '"hosts": ["a.example"], "name": "KEY"'),
  ) as Manifest,
  unused: UNUSED,
}

it('removes unused powers from bulkhead.json, and keeps its formatting', async () => {
  writeFileSync(join(folder, 'bulkhead.json'), MANIFEST)
  expect(await removeUnused(folder, extension, verify)).toEqual({
    file: 'bulkhead.json',
    removed: [
      'one: fs.read docs/**', 'one: fs.write out/**', 'one: shell {"cmd":"git","args":["log"]}',
      'two: net.hosts *.b.example', 'env HOME', 'secrets {"name":"KEY","hosts":["a.example"]}', 'stateSlot',
    ],
    left: [],
  })
  expect(readFileSync(join(folder, 'bulkhead.json'), 'utf8')).toBe(FIXED)
})

it('removes them from package.json if the manifest is there', async () => {
  const file = join(folder, 'package.json')
  const around = (manifest: string): string => `{ "env": ["HOME"], "bulkhead": ${manifest}, "version": "1.0.0" }`
  writeFileSync(file, around(MANIFEST))
  await removeUnused(folder, extension, verify)
  expect(readFileSync(file, 'utf8')).toBe(around(FIXED))
})

it('lists what the code declares, and the file does not', async () => {
  writeFileSync(join(folder, 'bulkhead.json'), '{ "id": "sample", "env": ["HOME"] }')
  expect(
    await removeUnused(folder, { ...extension, unused: { ...UNUSED, secrets: [], state: false } }, verify),
  ).toEqual({
    file: 'bulkhead.json',
    removed: ['env HOME'],
    left: [
      'one: fs.read docs/**', 'one: fs.write out/**', 'one: shell {"cmd":"git","args":["log"]}',
      'two: net.hosts *.b.example',
    ],
  })
  expect(readFileSync(join(folder, 'bulkhead.json'), 'utf8')).toBe('{ "id": "sample" }')
})

it('writes nothing if all is used, and restores the file if the manifest would be invalid', async () => {
  const file = join(folder, 'bulkhead.json')
  writeFileSync(file, MANIFEST)
  expect(
    await removeUnused(
      folder, { ...extension, unused: { tools: new Map(), env: [], secrets: [], state: false } }, verify,
    ),
  ).toMatchObject({ removed: [], left: [] })
  const invalid = async (): Promise<never> => {
    throw new BulkheadError('ShapeInvalid', 'No tool may reach a.example.')
  }
  await expect(removeUnused(folder, extension, invalid)).rejects.toMatchObject({
    code: 'ShapeInvalid',
    message: '--fix changed nothing, because bulkhead.json would be invalid: No tool may reach a.example.',
  })
  expect(readFileSync(file, 'utf8')).toBe(MANIFEST)
  await expect(removeUnused(join(folder, 'nowhere'), extension, verify)).rejects.toThrow('needs a manifest file')
})

/** Each runs the whole suite. */
it.each(thoroughly([], ['whole']))(
  'with the %s suite, --fix keeps what is used, and --live reaches a real host',
  async () => {
    const { inside } = await import('./command-inside.ts')
    let requests = 0
    const server = createServer(({ headers }, response) => {
      requests += headers.authorization === 'Bearer real-value' ? 1 : 0
      response.setHeader('content-type', 'application/json').end('{"live":true}')
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => new Promise<void>((resolve) => void server.close(() => resolve())))
    const host = `127.0.0.1:${(server.address() as AddressInfo).port}`
    await inside(['new', 'word-count', '--template', 'tool'], folder)
    const at = join(folder, 'word-count/bulkhead.json')
    const manifest = JSON.parse(readFileSync(at, 'utf8')) as { tools: [object] }
    const tool = {
      ...manifest.tools[0], mode: 'external', approvalKey: '{path}',
      requires: { net: { hosts: [host, 'unused.example'] } },
    }
    writeFileSync(
      at, JSON.stringify({ ...manifest, env: ['HOME'], secrets: [{ name: 'API_KEY', hosts: [host] }], tools: [tool] }),
    )
    writeFileSync(
      join(folder, 'word-count/index.js'),
      `export default { tools: { 'word-count': { async execute({ path }, runtime) {
    const key = await runtime.secrets.handle('API_KEY')
    const response = await runtime.net.fetch('http://${host}/x', { headers: { authorization: 'Bearer ' + key } })
    const { live } = await response.json()
    return { path, words: live ? 1 : 0 }
  } } } }`,
    )
    expect(await inside(['conformance', 'word-count'], folder)).toMatchObject({ code: 0 })
    expect(requests).toBe(0)
    const live = await inside(['conformance', 'word-count', '--live', '--fix', '--json'], folder, {
      API_KEY: 'real-value',
    })
    expect(live).toMatchObject({
      code: 0,
      stderr:
        'Removed from bulkhead.json, because no call used it:\n  word-count: net.hosts unused.example\n  env HOME\n',
    })
    expect((JSON.parse(live.stdout) as Report).summary.conforms).toBe(true)
    expect(requests).toBeGreaterThan(50)
    expect(JSON.parse(readFileSync(at, 'utf8'))).toEqual({
      ...manifest, secrets: [{ name: 'API_KEY', hosts: [host] }],
      tools: [{ ...tool, requires: { net: { hosts: [host] } } }],
    })
  },
)
