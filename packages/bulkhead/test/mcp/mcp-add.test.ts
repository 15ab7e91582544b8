import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { ONLY_IN_SOAK } from '../../../../scripts/thoroughly.ts'
import { readLauncher } from '../../src/cli/servers/mcp-pin.ts'
import { inside } from '../command-inside.ts'
import { startRegistry } from '../registry.ts'
import { joined } from '../joined.ts'

let folder: string
let home: string
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-add-')))
  home = join(folder, '.bulkhead')
})
afterEach(() => rmSync(folder, { recursive: true }))

let env: NodeJS.ProcessEnv = {}
const run = (act: string, ...rest: string[]) => inside(['mcp', act, '--home', home, ...rest], folder, env)
const config = () => JSON.parse(readFileSync(join(home, 'config.json'), 'utf8')) as unknown

it('adds a server with its grants, shows them and what is missing, and removes it', async () => {
  mkdirSync(home)
  mkdirSync(join(folder, 'data'))
  writeFileSync(join(home, 'config.json'), '{\n  "mode": "ask"\n}\n')
  const added = await run(
    'add', 'notes', '--read', 'data', '--write', '.', '--net', 'api.example.com', '--env', 'TOKEN', '--', 'node',
    '/etc', '-x',
  )
  expect([added.code, added.stdout]).toEqual([0, expect.stringMatching(joined(
    /Added notes to .*\n +starts +node \/etc -x\n/,
    / +in a jail +reads .*data, writes \{workspace\}, reaches api\.example\.com, reads the variable TOKEN\n/,
  ))])
  expect(added.stderr).toMatch(/may not read "\/etc", which its command names/)
  const requires = { fs: { read: [join(folder, 'data')], write: ['{workspace}'] }, net: { hosts: ['api.example.com'] } }
  expect(config()).toEqual({
    mode: 'ask', mcp: { notes: { type: 'local', command: ['node', '/etc', '-x'], env: ['TOKEN'], requires } },
  })
  expect((await run('add', 'notes', '--', 'node')).stderr).toMatch(/RegistrationConflict .*bulkhead mcp remove notes/)
  expect(await run('remove', 'notes')).toMatchObject({ code: 0, stdout: expect.stringContaining('Removed notes') })
  expect(config()).toEqual({ mode: 'ask' })
  expect((await run('remove', 'notes')).stderr).toMatch(/^NotFound /)
})

it('adds a key that the server does not see, and warns of one that it gets', async () => {
  const added = await run(
    'add', 'notes', '--use-key', 'TOKEN=api.example.com/v1/**', '--env', 'API_KEY', '--env', 'LEVEL', '--', 'node',
  )
  expect([added.code, added.stdout]).toEqual([0, expect.stringContaining(
    'uses the key TOKEN in Authorization of GET, HEAD, POST, PUT, PATCH, DELETE https://api.example.com/v1/**, '
    + 'and does not see it',
  )])
  expect(added.stderr).toMatch(/warning: the server reads the value of API_KEY\. .*--use-key API_KEY=HOST/)
  expect(added.stderr).not.toContain('LEVEL')
  expect(config()).toMatchObject({
    mcp: { notes: { keys: { TOKEN: { host: 'api.example.com', paths: ['/v1/**'] } }, env: ['API_KEY', 'LEVEL'] } },
  })
})

it.each<readonly [string, readonly [string, ...string[]], number, RegExp]>([
  ['a command', ['add', 'a'], 2, /Name the server and its command/],
  ['a valid name', ['add', '../a', '--', 'node'], 2, /is not a name/],
  ['a folder that exists', ['add', 'a', '--read', 'none', '--', 'node'], 2, /"none" does not exist/],
  ['a host', ['add', 'a', '--net', 'HTTP://x', '--', 'node'], 1, /ConfigInvalid .*net/],
  ['a host of a key', ['add', 'a', '--use-key', 'TOKEN', '--', 'node'], 2, /is not NAME=HOST/],
  ['a name of a host', ['add', 'a', '--use-key', 'TOKEN=127.0.0.1', '--', 'node'], 1, /ConfigInvalid .*host/],
  [
    'a package of a registry', ['add', 'a', '--', 'npx', 'https://evil.example/a.tgz'], 2,
    /not a package of a registry/,
  ],
])('needs %s', async (_, args, code, message) => {
  expect(await run(...args)).toMatchObject({ code, stderr: expect.stringMatching(message) })
  expect([existsSync(join(home, 'config.json')), existsSync(join(home, 'servers/a'))]).toEqual([false, false])
})

it('reads the package and the program of a launcher', () => {
  expect(readLauncher(['node', 'npx'])).toBeUndefined()
  expect(readLauncher(['npx', '-y', '@acme/server@1', '.', '-y'])).toEqual({
    kind: 'npx', spec: '@acme/server@1', program: undefined, args: ['.', '-y'],
  })
  expect(readLauncher(['/usr/bin/npx', '--package=@acme/tools', '--', 'serve', 'x'])).toEqual({
    kind: 'npx', spec: '@acme/tools', program: 'serve', args: ['x'],
  })
  expect(readLauncher(['uvx', '--from', 'acme[all]==1.2', 'serve'])).toEqual({
    kind: 'uvx', spec: 'acme[all]==1.2', program: 'serve', args: [],
  })
  expect(() => readLauncher(['npx', '--call', 'rm -rf .', 'x'])).toThrow(/--call of npx cannot be pinned/)
  expect(() => readLauncher(['npx', '-y'])).toThrow(/Name the package/)
})

/** As uv, without a network: an environment with one script. */
const UV = `#!/bin/sh
case "$1 $2" in
  'pip compile')
    for last; do :; done
    echo 'acme-notes==1.2.3 --hash=sha256:0' > "$(dirname "$last")/requirements.txt" ;;
  'pip sync') printf '#!%s/venv/bin/python\\n' "$PWD" > venv/bin/acme-notes ;;
  *) mkdir -p "$2/bin" && touch "$2/pyvenv.cfg" "$2/bin/python" ;;
esac
`

it('starts the script of uvx with the Python of its environment, so that a home can be moved', async () => {
  mkdirSync(join(folder, 'bin'))
  writeFileSync(join(folder, 'bin/uv'), UV, { mode: 0o755 })
  env = { PATH: `${join(folder, 'bin')}:/usr/bin:/bin` }
  try {
    expect(await run('add', 'notes', '--', 'uvx', 'acme-notes', '--all')).toMatchObject({
      code: 0, stdout: expect.stringContaining('acme-notes@1.2.3'),
    })
  } finally {
    env = {}
  }
  const bin = '{home}/servers/notes/venv/bin'
  expect(config()).toEqual({
    mcp: { notes: { type: 'local', command: [`${bin}/python`, `${bin}/acme-notes`, '--all'] } },
  })
})

it(
  'installs the package of npx with exact version and digest, runs no script of it, and starts it without a network',
  ONLY_IN_SOAK,
  async () => {
    const source = join(folder, 'package')
    mkdirSync(source)
    const scripts = { install: `touch ${join(folder, 'ran')}`, postinstall: `touch ${join(folder, 'ran')}` }
    writeFileSync(
      join(source, 'package.json'),
      JSON.stringify({ name: '@acme/notes', version: '1.2.3', bin: { notes: 'serve.mjs' }, scripts }),
    )
    const server = readFileSync(join(import.meta.dirname, 'fixtures/hostile-server.mjs'), 'utf8')
    writeFileSync(join(source, 'serve.mjs'), `#!/usr/bin/env node\n${server}`)
    execFileSync('tar', ['czf', 'a.tgz', 'package'], { cwd: folder })
    await using registry = await startRegistry('@acme/notes')
    registry.publish('1.2.3', readFileSync(join(folder, 'a.tgz')))
    env = { PATH: process.env['PATH'], BULKHEAD_REGISTRY: registry.url }
    try {
      const added = await run('add', 'notes', '--', 'npx', '-y', '@acme/notes@^1', '--all')
      expect(added).toMatchObject({
        code: 0,
        stdout: expect.stringMatching(/installed +@acme\/notes@1\.2\.3 \(sha512-/),
      })
      expect((await run('add', 'other', '--', 'npx', '-p', '@acme/notes', 'none')).stderr).toMatch(
        /has no program "none"; it has notes/,
      )
    } finally {
      env = {}
    }
    const file = '{home}/servers/notes/node_modules/@acme/notes/serve.mjs'
    expect(config()).toEqual({ mcp: { notes: { type: 'local', command: ['node', file, '--all'] } } })
    expect([existsSync(join(folder, 'ran')), existsSync(join(home, 'servers/other'))]).toEqual([false, false])
    expect(
      (await inside(['tools', '--connect', '--home', home], folder, { PATH: process.env['PATH'] })).stdout,
    ).toMatch(/^notes +local +global +connected +1 /m)
    await run('remove', 'notes')
    expect(existsSync(join(home, 'servers/notes'))).toBe(false)
  },
)
