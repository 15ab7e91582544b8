import { expect, it, test } from 'vitest'
import { isListed, readAllowlistEntry } from '../../src/model/allowlist-entry.ts'
import { KEYED, opened } from '../requirements/requirement.ts'
import { sketchExtension, createWorld } from '../twin/world.ts'

it.each([
  ['read', 'read', undefined], ['bash:git status', 'bash', 'git status'],
  ['web_fetch:localhost:80', 'web_fetch', 'localhost:80'], ['mem_*', 'mem_*', undefined], ['mem_*:a', 'mem_*', 'a'],
  ['mcp:chrome-dev-tools', 'mcp:chrome-dev-tools:*', undefined], ['mcp:github:*', 'mcp:github:*', undefined],
  ['mcp:github:create_*:acme/*', 'mcp:github:create_*', 'acme/*'], ['openapi:shop', 'openapi:shop:*', undefined],
  ['mcp', 'mcp', undefined], ['mcp:', 'mcp', ''],
])('the entry %s is about %s, with the key %s', (entry, tool, key) => {
  expect(readAllowlistEntry(entry)).toEqual({ tool, key })
})

test('an entry covers the tools of one server only, and a part after the tool is a key', () => {
  const click = { name: 'chrome_dev_tools_click', source: 'mcp:chrome-dev-tools:click' }
  const covers = (entry: string, key = 'k') => isListed(entry, click, key)
  const covering = [
    'mcp:chrome-dev-tools', 'mcp:chrome-dev-tools:*', 'mcp:chrome-dev-tools:cl*', 'mcp:chrome-dev-tools:click:k',
    'chrome_dev_tools_*', 'chrome_dev_tools_click:*',
  ]
  expect(covering.filter((entry) => !covers(entry))).toEqual([])
  // mcp:chrome-dev-tools:k is a tool of the server, not a key of every tool.
  const others = [
    'mcp:chrome', 'mcp:chrome-dev-tools:open', 'mcp:chrome-dev-tools:click:x', 'openapi:chrome-dev-tools', 'chrome',
    'chrome-dev-tools', 'mcp:chrome-dev-tools:k', '*', '**:*', '*:k',
  ]
  expect(others.filter((entry) => covers(entry))).toEqual([])
})

test('an entry with a pattern answers the mode, for every key or some', async () => {
  const extensions = [{ tools: { echo: KEYED, echo_far: KEYED, other: KEYED } }]
  const { verdict } = await opened({ config: { mode: 'allowlist', allowlist: ['echo_*', 'o*r:a*'] }, extensions })
  expect(await verdict({ key: 'b' }, 'echo_far')).toEqual(['output', 0])
  expect(await verdict({ key: 'b' })).toEqual(['output', 1])
  expect([await verdict({ key: 'a' }, 'other'), await verdict({ key: 'b' }, 'other')]).toEqual([
    ['output', 0], ['output', 1],
  ])
})

test('unknown tools and servers of an allow-list are reported', async () => {
  const { host } = createWorld({
    extensions: [{ layer: 'bundled', tools: { read: {} } }],
    config: {
      mode: 'allowlist', mcp: { 'chrome-dev-tools': { type: 'local', command: ['x'] } },
      allowlist: [
        'mem_*', 're*:docs', 'mcp:crome-dev-tools:*', 'mcp:chrome-dev-tools', 'mcp:chrome-dev-tools:*:k',
        'chrome_dev_tools_click', 'chrome_dev_tools_*', '*:docs',
      ],
    },
  })
  const session = await host.openSession({ tools: ['mcp:crome-dev-tools'] })
  const found = () =>
    host.diagnostics.map(({ path, message, cure }) => `${path} ${message.replace(/ here,.*$/, '.')} ${cure}`)
  expect(found()).toEqual([
    '/allowlist/0 No tool is called "mem_*". Name it as `bulkhead tools` lists it, or remove the entry.',
    '/allowlist/2 No server is called "mcp:crome-dev-tools". Did you mean "mcp:chrome-dev-tools"?',
    '/allowlist/7 An entry of the allowlist does not cover every tool, so this one covers none. Name the tools, or '
      + 'set the mode to yolo.',
    '/tools/0 No server is called "mcp:crome-dev-tools". Did you mean "mcp:chrome-dev-tools"?',
  ])
  await session.close()
  const { descriptor } = sketchExtension({ id: 'mcp-chrome', tools: { chrome_dev_tools_click: {} } })
  const tools = new Map([['chrome_dev_tools_click', 'click']])
  await host.register([{ ...descriptor, server: { kind: 'mcp', name: 'chrome-dev-tools', address: 'a', tools } }])
  expect(found()).toHaveLength(3)
})
