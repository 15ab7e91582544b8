import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ConfigFile, LanguageServerConfig, LayerConfig } from '@bulkhead/contract'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { LONG, thoroughly } from '../../../../scripts/thoroughly.ts'
import { ConfiguredLanguageServers, type LanguageServersOptions } from '../../src/lsp/index.ts'

const SERVER = join(import.meta.dirname, 'fixtures/server.js')
const START = { line: 0, character: 0 }
const never = new AbortController().signal
const file = (text = 'TODO one') => ({ path: 'a.test', text })

let top: string
let folder: string
let opened: ConfiguredLanguageServers[]
beforeEach(() => {
  top = mkdtempSync(join(tmpdir(), 'bulkhead-lsp-'))
  folder = join(top, 'work')
  mkdirSync(folder)
  opened = []
})
afterEach(async () => {
  await Promise.all(opened.map((servers) => servers.close()))
  rmSync(top, { recursive: true })
})

interface Message {
  readonly id?: unknown
  readonly method?: string
  readonly params?: { readonly [key: string]: unknown }
  readonly result?: unknown
  readonly error?: unknown
  readonly pid?: number
}
/** What the server received. */
const notes = (): readonly Message[] =>
  readFileSync(join(top, 'log'), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Message)
const methods = () => notes().flatMap(({ method }) => method ?? [])

const layer = (config: ConfigFile, name: LayerConfig['layer'] = 'global'): LayerConfig => ({
  layer: name, location: `${name}.json`, config,
})
const configOf = (...layers: readonly LayerConfig[]) => ({
  merged: Object.assign({}, ...layers.map(({ config }) => config)) as ConfigFile, layers,
})
const entry = (behaviour: string, more: Partial<LanguageServerConfig> = {}): LanguageServerConfig =>
  ({ command: [process.execPath, SERVER, behaviour, join(top, 'log')], suffixes: ['.test'], jail: false, ...more })

function open(
  behaviour: string, options: Partial<LanguageServersOptions> = {}, more: Partial<LanguageServerConfig> = {},
) {
  const servers = new ConfiguredLanguageServers({
    self: { name: 'test', version: '1.0.0' },
    surroundings: {
      workspace: folder, base: { PATH: process.env['PATH'] ?? '' },
      env: (name) => (name === 'SECRET' ? 'hunter2hunter2' : undefined),
    },
    ...options,
  })
  opened.push(servers)
  expect(servers.configure(configOf(layer({ lsp: { test: entry(behaviour, more) } })))).toEqual([])
  return servers
}
const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

describe('a language server', () => {
  it('answers questions, is started once, and gets the present text', async () => {
    const servers = open('polite')
    const [first] = await Promise.all([
      servers.hover(file('one'), START, never), servers.definition(file('one'), START, never),
    ])
    expect(first).toBe('one')
    expect(await servers.hover(file('two'), START, never)).toBe('two')
    expect(await servers.definition({ path: join(folder, 'a.test'), text: 'two' }, START, never)).toEqual([
      { path: 'a.test', isOutside: false, start: START },
    ])
    expect(methods().filter((name) => /^initialize$|did/.test(name))).toEqual([
      'initialize', 'textDocument/didOpen', 'textDocument/didChange',
    ])
    writeFileSync(join(folder, 'a.test'), 'three')
    await servers.hover({ path: 'b.test', text: '' }, START, never)
    expect(
      methods()
        .filter((name) => name.includes('did'))
        .slice(2),
    ).toEqual(['textDocument/didClose', 'workspace/didChangeWatchedFiles', 'textDocument/didOpen'])
    expect(notes().find(({ method }) => method === 'initialize')!.params).toMatchObject({
      processId: null, capabilities: { general: { positionEncodings: ['utf-16'] } },
    })
  })

  it('gets answers to its own requests, and no edit is applied', async () => {
    const servers = open('polite')
    await servers.hover(file(), START, never)
    const answers = () =>
      notes().flatMap(({ id, method, result, error }) =>
        id !== undefined && method === undefined ? [[id, result ?? error ?? null]] : [],
      )
    await expect.poll(answers).toEqual([
      ['r1', null], [2, [null, null]], [3, { applied: false, failureReason: expect.any(String) }],
      [4, { code: -32_601, message: expect.any(String) }],
    ])
  })

  it('publishes diagnostics for the present version', async () => {
    const servers = open('stale', { settleMs: 200 })
    expect(await servers.diagnostics(file(), never)).toEqual([
      { severity: 'warning', message: 'to do', code: '7', source: 'test', start: START },
    ])
    expect(await servers.diagnostics(file('done'), never)).toEqual([])
    expect(await servers.diagnostics(file('done'), never)).toEqual([])
  })

  it('learns which files have changed', LONG, async () => {
    mkdirSync(join(folder, 'node_modules'))
    writeFileSync(join(folder, 'old.test'), 'a')
    const servers = open('polite')
    await servers.hover(file(), START, never)
    writeFileSync(join(folder, 'new.test'), '')
    writeFileSync(join(folder, 'node_modules/x.test'), '')
    rmSync(join(folder, 'old.test'))
    await servers.hover(file(), START, never)
    const { params } = notes().find(({ method }) => method === 'workspace/didChangeWatchedFiles')!
    expect(params!['changes']).toEqual([
      { uri: expect.stringMatching(/\/new\.test$/), type: 1 }, { uri: expect.stringMatching(/\/old\.test$/), type: 3 },
    ])
  })

  it('is asked again while it loads the project, or if the text changed', LONG, async () => {
    expect(await open('loading').definition(file(), START, never)).toHaveLength(1)
    expect(await open('retry').definition(file(), START, never)).toHaveLength(1)
  })

  it('does not show the secrets that it was given', async () => {
    expect(await open('polite', {}, { env: ['SECRET'] }).hover(file('a'), START, never)).toBe('a [secret SECRET]')
  })

  it('is ended when it is idle, when the configuration no longer has it, and with the host', async () => {
    const idle = open('polite', { idleMs: 1 })
    await idle.hover(file(), START, never)
    const [{ pid: first }] = notes() as readonly [{ pid: number }]
    await expect.poll(() => isAlive(first)).toBe(false)
    await idle.hover(file(), START, never)
    expect(notes().filter(({ pid }) => pid !== undefined)).toHaveLength(2)
    const servers = open('polite')
    await servers.hover(file(), START, never)
    const { pid } = notes().findLast((note) => note.pid !== undefined) as { pid: number }
    servers.configure(configOf(layer({})))
    await servers.close()
    expect(isAlive(pid)).toBe(false)
    await expect(servers.hover(file(), START, never)).rejects.toMatchObject({ code: 'CapabilityUnavailable' })
  })
})

it('a server that ends slowly when it is idle is not a failure of the next one', LONG, async () => {
  const servers = open('lingering', { idleMs: 1 })
  const exits = () => methods().filter((name) => name === 'exit').length
  await servers.hover(file(), START, never)
  const [{ pid }] = notes() as readonly [{ pid: number }]
  await expect.poll(exits).toBe(1)
  await servers.hover(file(), START, never)
  await expect.poll(() => isAlive(pid)).toBe(false)
  await expect.poll(exits).toBe(2)
  expect(await servers.hover(file('third'), START, never)).toBe('third')
})

describe('a hostile language server', () => {
  const ENDS: readonly (readonly [behaviour: string, code: string, message: RegExp])[] = [
    ['huge', 'ServerLost', /more than 16777216 bytes/], ['flood', 'ServerLost', /too many messages/],
    ['crash', 'ServerLost', /exited.*Last line of its standard error: out of \\u\{1b\}\[31mluck/],
    ['error', 'ToolExecutionFailed', /broken \\u\{202e\} inside/], ['unreadable', 'ServerLost', /cannot be read/],
    ['garbage', 'ServerLost', /does not begin a message/], ['headless', 'ServerLost', /no Content-Length/],
    ['utf-8', 'ServerUnavailable', /counts columns/],
    ['no-search', 'CapabilityUnavailable', /does not support workspace_symbols/],
  ]
  it.each(thoroughly(ENDS.slice(0, 3), ENDS))('that is %s ends the call with %s', async (behaviour, code, message) => {
    await expect(open(behaviour).findSymbols(file(), 'x', never)).rejects.toMatchObject({
      code, message: expect.stringMatching(message),
    })
  })

  it('that is silent is left when the call ends, and learns of it', async () => {
    const servers = open('silent')
    const call = new AbortController()
    const asking = servers.hover(file(), START, call.signal)
    await expect.poll(() => { try { return methods() } catch { return [] } }).toContain('textDocument/hover')
    call.abort(new Error('too late'))
    await expect(asking).rejects.toThrow('too late')
    await expect.poll(methods).toContain('$/cancelRequest')
  })

  it('cannot answer for another request, or with something else', async () => {
    expect(await open('forged').hover(file('true'), START, never)).toBe('true')
    const nonsense = open('nonsense')
    expect(await nonsense.hover(file(), START, never)).toBe('')
    expect(await nonsense.definition(file(), START, never)).toEqual([])
    expect(await nonsense.symbols(file(), never)).toEqual([])
  })

  it('names places outside of the workspace, and nested symbols', async () => {
    const servers = open('outside')
    expect((await servers.definition(file(), START, never)).map(({ path, isOutside }) => [path, isOutside])).toEqual([
      ['/etc/passwd', true], [expect.stringMatching(/etc\/shadow$/), true], ['jar:file:///a.jar!/B.class', true],
    ])
    expect(await servers.symbols(file(), never)).toHaveLength(21)
  })

  it('is not started again at once', async () => {
    let now = 0
    const servers = open('crash-once', { now: () => now })
    await expect(servers.hover(file(), START, never)).rejects.toMatchObject({ code: 'ServerLost' })
    await expect(servers.hover(file(), START, never)).rejects.toMatchObject({
      code: 'ServerUnavailable', message: expect.stringMatching(/exited.*The next attempt is possible in 1 s/),
      data: { retryAfterMs: 1_000 },
    })
    now = 1_001
    expect(await servers.hover(file('again'), START, never)).toBe('again')
  })
})

describe('the configuration', () => {
  it('says what to do if there is no server, or it is not installed', async () => {
    const servers = open('polite', {}, { command: ['no-such-server'] })
    await expect(servers.hover(file(), START, never)).rejects.toMatchObject({
      code: 'ServerUnavailable',
      message: 'The language server "test" is unavailable: "no-such-server" is not installed, or not on the PATH. '
        + 'Install it, or write its whole path into lsp.test.command.',
    })
    const cure = async (path: string) =>
      servers.hover({ path, text: '' }, START, never).catch((error: Error) => error.message)
    expect(await cure('src/main.rs')).toBe(
      'No language server is configured for "src/main.rs". Install one (rustup component add rust-analyzer), '
      + 'then add {"lsp":{"rust":{"command":["rust-analyzer"]}}} to the configuration of the user.',
    )
    expect(await cure('a.zig')).toMatch(/"suffixes": \["\.zig"\]/)
    expect(await cure('../a.rs')).toMatch(/outside of the workspace/)
  })

  it('needs a jail unless the entry says otherwise', async () => {
    await expect(open('polite', {}, { jail: true }).hover(file(), START, never)).rejects.toMatchObject({
      code: 'CapabilityUnavailable', message: expect.stringMatching(/runs in a jail/),
    })
  })

  it('knows the files of common servers, and uses the longest suffix', async () => {
    const servers = open('polite')
    const configure = (lsp: NonNullable<ConfigFile['lsp']>) => servers.configure(configOf(layer({ lsp })))
    expect(configure({ a: { command: ['x'] } })).toMatchObject([
      { code: 'ConfigInvalid', path: '/lsp/a', message: expect.stringMatching(/no "suffixes"/) },
    ])
    await expect(servers.hover({ path: 'a.rb', text: '' }, START, never)).rejects.toMatchObject({
      message: expect.stringMatching(/cannot be used: "\/lsp\/a"\. Run "bulkhead doctor"/),
    })
    expect(
      configure({
        a: { command: ['node_modules/.bin/tsc', '--lsp', '--stdio'] }, b: { command: ['node', '/x/rust-analyzer'] },
      }),
    ).toEqual([])
    expect(
      configure({
        short: { ...entry('error'), suffixes: ['.test'] }, long: { ...entry('polite'), suffixes: ['.a.test'] },
      }),
    ).toEqual([])
    expect(await servers.hover({ path: 'x.A.test', text: 'yes' }, START, never)).toBe('yes')
  })

  it('lets a project disable a server of the user, but not replace it', async () => {
    const servers = open('polite')
    const own = layer({ lsp: { test: entry('polite') } })
    expect(servers.configure(configOf(own, layer({ lsp: { test: entry('error') } }, 'project')))).toMatchObject([
      { code: 'RegistrationConflict', layer: 'project' },
    ])
    expect(await servers.hover(file('mine'), START, never)).toBe('mine')
    servers.configure(configOf(own, layer({ lsp: { test: entry('polite', { enabled: false }) } }, 'project')))
    await expect(servers.hover(file(), START, never)).rejects.toMatchObject({ code: 'CapabilityUnavailable' })
  })

  it('does not use a server beyond a ceiling', () => {
    const ceiling = layer({ policy: { ceiling: { fs: { read: ['{workspace}/**'] } } } })
    const servers = open('polite')
    expect(
      servers.configure(
        configOf(
          layer({ lsp: { test: entry('polite', { jail: true, requires: { net: { hosts: ['x.test'] } } }) } }), ceiling,
        ),
      ),
    ).toMatchObject([{ code: 'CapabilityDenied', path: '/lsp/test' }])
    expect(servers.configure(configOf(layer({ lsp: { test: entry('polite', { jail: true }) } }), ceiling))).toEqual([])
  })
})
