import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { inspect } from '../src/cli/inspect.ts'
import { changeTokens, tokenFile } from '../src/cli/token-book.ts'
import { createHost } from '../src/index.ts'
import { CACHE } from './cache.ts'
import { writeExtension } from './extension-folder.ts'
import { joined } from './joined.ts'

let folder: string
let home: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'bulkhead-names-'))
  home = join(folder, 'home')
  mkdirSync(home)
  writeExtension(
    home, { id: 'weather', tools: [{ name: 'forecast' }] },
    'export default { tools: { forecast: { execute: () => "sun" } } }',
  )
})
afterEach(() => rmSync(folder, { recursive: true }))

const openWith = async (config: unknown) => {
  writeFileSync(join(home, 'config.json'), JSON.stringify(config))
  return createHost({ workspace: folder, home, cache: CACHE })
}

it('a misspelt name in a file is reported with the nearest name, and a correct one is not', async () => {
  const misspelt = await openWith({
    rules: [
      { permission: 'wrtie', action: 'deny' }, { permission: 'net', action: 'deny' },
    ],
    tools: { bsh: { enabled: false } },
    extensions: { wether: { enabled: false } },
  })
  const found = misspelt.diagnostics
    .filter(({ stage }) => stage === 'configSchema')
    .map(({ path, cure }) => `${path} ${cure}`)
  await misspelt.close()
  expect(found).toEqual([
    '/rules/0/permission Did you mean "write"?', '/rules/1/permission Did you mean "net.fetch"?',
    '/tools/bsh Did you mean "bash"?',
    '/extensions/wether Did you mean "weather"?',
  ])
  const right = await openWith({
    rules: [{ permission: 'forecast', action: 'deny' }],
    tools: { bash: { enabled: false }, forecast: { enabled: false } },
    extensions: { weather: { enabled: false } },
  })
  expect(right.diagnostics.filter(({ stage }) => stage === 'configSchema')).toEqual([])
  expect(right.tool('forecast')).toBeUndefined()
  await right.close()
})

it('a rule after a malformed one is reported with its own position and file', async () => {
  const host = await openWith({
    rules: [
      { permission: 'read', action: 'allow', pattern: 7 }, { permission: 'wrtie', action: 'deny' },
      { permission: 'bash', action: 'deny' },
    ],
  })
  const session = await host.openSession({ mode: 'yolo' })
  const { chain, remedies } = await session.explain({ id: 'c', name: 'bash', arguments: { command: 'ls' } })
  const source = `user rule bash * (${join(home, 'config.json')}#/rules/2)`
  expect(chain.find(({ stage }) => stage === 'rules')).toMatchObject({ action: 'deny', source })
  expect(remedies).toEqual([`Change or remove the ${source}.`, expect.stringMatching(/policy add bash ls allow$/)])
  expect(host.diagnostics.filter(({ stage }) => stage === 'configSchema').map(({ path }) => path)).toEqual([
    '/rules/0/pattern', '/rules/1/permission',
  ])
  await host.close()
})

it('the role of a token is known, also while its client has no session', async () => {
  writeFileSync(join(home, 'config.json'), JSON.stringify({ roles: { allow_read_reader: false } }))
  const reported = async () => {
    const { host } = await inspect({ workspace: folder, home })
    const paths = host.diagnostics.filter(({ stage }) => stage === 'configSchema').map(({ path }) => path)
    await host.close()
    return paths
  }
  expect(await reported()).toEqual(['/roles/allow_read_reader'])
  const token = { name: 'editor', role: 'reader', sha256: '0'.repeat(64), created: '2026-01-01T00:00:00.000Z' }
  await changeTokens(tokenFile(home), () => [token])
  expect(await reported()).toEqual([])
})

it('a rule that never decides is reported with the one that does', async () => {
  const host = await openWith({
    rules: [
      { permission: 'bash', action: 'deny' }, { permission: 'bash', action: 'allow' },
    ],
  })
  const found = host.diagnostics
    .filter(({ stage }) => stage === 'configSchema')
    .map(({ path, message }) => `${path} ${message}`)
  await host.close()
  expect(found).toEqual([expect.stringMatching(joined(
    /^\/rules\/1 The rule "bash \* allow" never decides: "bash \* deny" of .*config\.json#\/rules\/0 matches /,
    /everything/,
  ))])
})
