import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdirSync, readFileSync, realpathSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TokenClient } from '@bulkhead/bridges/mcp'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { LONG } from '../../../../scripts/thoroughly.ts'
import { BUNDLED } from '../bundled.ts'
import { shareVerified } from '../cache.ts'
import { inside } from '../command-inside.ts'
import { HttpWorld, inSession, PLAIN, send, sessionOf } from './http-world.ts'
import { clientOf, ERAS } from './served-world.ts'

const WAIT = { timeout: 20_000, interval: 10 }
const bearer = (token: string) => ({ Authorization: `Bearer ${token}` })

describe('verify', () => {
  const ISSUER = 'https://accounts.example/tenant'
  let world: HttpWorld
  beforeAll(async () => {
    world = await new HttpWorld().open()
  })
  afterEach(() => world.endAll())
  afterAll(() => world.close())

  /** Knows these tokens. */
  const serve = (known: Readonly<Record<string, TokenClient>>, more: Parameters<HttpWorld['serve']>[0] = {}) =>
    world.serve({ tokens: [], verify: async (token) => known[token], ...more })

  it('gives each session the name and the role of its token', async () => {
    const seen: unknown[] = []
    const { serving } = await serve(
      { 'one-of-two-tokens': { name: 'ada', role: 'reviewer' }, 'two-of-two-tokens': { name: 'bob' } },
      {
        openSession: async (interactor, { name, role } = { name: 'none' }) => {
          seen.push([name, role])
          return world.host.openSession({ interactor, ...(role && { role }), roles: { allow_count_reviewer: false } })
        },
      },
    )
    const call = async (token: string) => {
      const { id } = await sessionOf(serving, token)
      return (await inSession(serving, id, { method: 'tools/call', params: { name: 'count', arguments: {} } }, token))
        .text
    }
    expect([await call('one-of-two-tokens'), await call('two-of-two-tokens')])
      .toEqual([expect.stringContaining('RoleDenied'), expect.stringContaining('counted')])
    expect(seen).toEqual([['ada', 'reviewer'], ['bob', undefined]])
    expect((await send(serving, { headers: bearer('none-of-the-tokens') })).status).toBe(401)
  })

  it.each(ERAS)('a revoked token ends the session, the call and the stream of its client (%s)', async (era) => {
    const ending = new AbortController()
    const known: Record<string, TokenClient> = {
      'one-of-two-tokens': { name: 'ada', revoked: ending.signal }, 'two-of-two-tokens': { name: 'bob' },
    }
    const { serving, open } = await serve(known)
    let started = 0
    world.ending.push(world.host.on(() => void (started += 1), ['ToolInvocationStarted']))
    const [ofAda] = Object.keys(known).map(async (token) => {
      const client = clientOf(era)
      await client.connect(
        new StreamableHTTPClientTransport(new URL(serving.url), { requestInit: { headers: bearer(token) } }),
      )
      world.ending.push(() => client.close())
      return client.callTool({ name: 'wait', arguments: {} }).then(({ isError }) => isError, () => 'disconnected')
    })
    await vi.waitFor(() => expect(started).toBe(2), WAIT)
    ending.abort()
    expect([true, 'disconnected']).toContain(await ofAda)
    await vi.waitFor(() => expect(open.size).toBe(1), WAIT)
    const statuses = await Promise.all(
      Object.keys(known).map(async (token) => (await sessionOf(serving, token)).status),
    )
    expect(statuses).toEqual([401, 200])
  })

  it('ends a connection that waits on a stream when its token is revoked', async () => {
    const ending = new AbortController()
    const { serving } = await serve({ 'one-of-two-tokens': { name: 'ada', revoked: ending.signal } })
    const { id } = await sessionOf(serving, 'one-of-two-tokens')
    const { body } = await fetch(serving.url, {
      headers: { ...PLAIN, ...bearer('one-of-two-tokens'), 'Mcp-Session-Id': id },
    })
    const ended = body!.pipeTo(new WritableStream()).then(() => 'ended', () => 'ended')
    ending.abort()
    expect(await ended).toBe('ended')
  })

  it('tells clients without a token about its issuer (RFC 9728)', async () => {
    const { serving } = await serve({ 'one-of-two-tokens': { name: 'ada' } }, { issuer: ISSUER })
    const { origin } = new URL(serving.url)
    const refused = await send(serving, { headers: bearer('none-of-the-tokens') })
    const at = `${origin}/.well-known/oauth-protected-resource/mcp`
    expect([refused.status, refused.headers['www-authenticate']]).toEqual([
      401, `Bearer realm="bulkhead", resource_metadata="${at}"`,
    ])
    for (const place of [at, `${origin}/.well-known/oauth-protected-resource`]) {
      const found = await fetch(place)
      expect([found.status, await found.json()]).toEqual([
        200,
        {
          resource: serving.url, authorization_servers: [ISSUER], bearer_methods_supported: ['header'],
          resource_name: 'bulkhead',
        },
      ])
      expect((await fetch(place, { method: 'POST' })).status).toBe(401)
    }
    expect(
      (
        await send(serving, {
          method: 'GET', path: '/.well-known/oauth-protected-resource', headers: { Host: 'evil.example' },
        })
      ).status,
    ).toBe(403)
  })

  it('serves no document of RFC 9728 without an issuer', async () => {
    const { serving } = await serve({ 'one-of-two-tokens': { name: 'ada' } })
    const path = '/.well-known/oauth-protected-resource/mcp'
    expect((await send(serving, { method: 'GET', path, headers: bearer('one-of-two-tokens') })).status).toBe(404)
  })

  it('is needed for an issuer, which must be a URL', async () => {
    await expect(world.serve({ issuer: ISSUER })).rejects.toThrow('`issuer` requires `verify`.')
    await expect(serve({}, { issuer: 'accounts.example' })).rejects.toThrow('`issuer` must be')
    await expect(world.serve({ tokens: [] })).rejects.toThrow('at least one token')
  })

  it('that fails serves nothing', async () => {
    const { serving, faults, open } = await world.serve({ verify: () => { throw new Error('no database') } })
    expect([(await send(serving, { headers: bearer('some-token-of-a-client') })).status, faults, open.size]).toEqual([
      500, ['no database'], 0,
    ])
  })
})

describe('mcp token', () => {
  const BIN = join(import.meta.dirname, '../../src/bin.ts')
  let folder: string
  let file: string
  const ending: (() => unknown)[] = []
  beforeEach(() => {
    folder = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-tokens-')))
    file = join(folder, 'home/mcp-tokens.json')
    mkdirSync(join(folder, 'work'))
    mkdirSync(join(folder, 'home'))
    shareVerified(join(folder, 'home'))
    writeFileSync(join(folder, 'home/config.json'), JSON.stringify({
      roles: { allow_glob_reader: false }, sandbox: { spares: { process: 0, thread: 0 } },
    }))
  })
  afterEach(async () => {
    for (const end of ending.splice(0)) await end()
    rmSync(folder, { recursive: true })
  })
  const places = () => ['--workspace', join(folder, 'work'), '--home', join(folder, 'home')]
  const token = (...words: string[]) => inside(['mcp', 'token', ...words, '--home', join(folder, 'home')], folder)
  const added = async (...words: string[]) =>
    (JSON.parse((await token('add', ...words, '--json')).stdout) as { readonly token: string }).token

  async function start(more: readonly string[] = [], env: NodeJS.ProcessEnv = {}) {
    const child = spawn(process.execPath, [...BUNDLED, BIN, 'mcp', '--http', '--port', '0', ...places(), ...more], {
      env: { NO_COLOR: '1', HOME: folder, NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] ?? '', ...env },
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    ending.push(() => child.kill('SIGKILL'))
    let printed = ''
    child.stderr.setEncoding('utf8').on('data', (text: string) => { printed += text })
    await vi.waitFor(() => expect(printed).toMatch(/^Authorization: .*\n/m), { timeout: 60_000 })
    return {
      serving: { url: /Serving MCP at (\S+)/.exec(printed)![1]! }, printed: () => printed,
      async stop() {
        child.kill('SIGTERM')
        await once(child, 'close')
      },
    }
  }

  it('keeps digests of named tokens in a file that only the user can read', async () => {
    expect(await token('list')).toMatchObject({ code: 0, stdout: 'No tokens.\n' })
    const { code, stdout, stderr } = await token('add', 'editor', '--role', 'reader')
    const [, secret = ''] = /^Authorization: Bearer ([\w-]{43})$/m.exec(stdout) ?? []
    expect([code, stdout, stderr]).toEqual([
      0, expect.stringMatching(/^Added the token editor, with the role reader\.\n/),
      expect.stringContaining('it is not stored'),
    ])
    expect(secret).not.toBe('')
    await added('builder')
    expect(await token('list')).toMatchObject({
      stdout: expect.stringMatching(/^NAME +ROLE +ADDED\neditor +reader .*\nbuilder +- /),
    })
    const { tokens } = JSON.parse((await token('list', '--json')).stdout) as { readonly tokens: object[] }
    expect(tokens).toMatchObject([{ name: 'editor', role: 'reader' }, { name: 'builder', role: null }])
    expect([statSync(file).mode & 0o777, readFileSync(file, 'utf8').includes(secret)]).toEqual([0o600, false])
    expect((await token('add', 'editor')).stderr).toMatch(/^RegistrationConflict .*bulkhead mcp token revoke editor/)
    expect(await token('revoke', 'editor')).toMatchObject({ code: 0, stdout: 'Revoked the token editor.\n' })
    expect((await token('revoke', 'editor')).stderr).toMatch(/^NotFound /)
  })

  it.each([
    [[], /Use token add NAME, token list, or token revoke NAME/], [['add'], /Use token add NAME/],
    [['add', 'a', 'b'], /Use token add NAME/], [['add', '../a'], /is not a name/],
    [['add', 'a', '--role', 'a b'], /is not a role/], [['list', '--role', 'a'], /--role requires "token add"/],
    [['add', 'a', '--port', '1'], /--port cannot be used/],
  ])('refuses %j', async (words, message) => {
    expect(await token(...words)).toMatchObject({ code: 2, stderr: expect.stringMatching(message) })
  })

  it.each<[string, () => void]>([
    ['that others can read', () => chmodSync(file, 0o644)], ['that is not JSON', () => writeFileSync(file, '{')],
    ['with another form', () => writeFileSync(file, '{"tokens":[{"name":"a"}]}')],
  ])('does not serve with a file of tokens %s', async (_, damage) => {
    await added('editor')
    damage()
    const { code, stderr } = await inside(['mcp', '--http', '--port', '0', ...places()], folder)
    expect([code, stderr]).toEqual([
      1, expect.stringMatching(/StoreUnavailable The tokens in .*mcp-tokens\.json cannot be used/),
    ])
    expect((await token('list')).stderr).toMatch(/^StoreUnavailable /)
  })

  it('accepts tokens after a restart and new ones at once, and ends what a revoked one opened', LONG, async () => {
    const secret = 'a-token-that-the-operator-made'
    writeFileSync(join(folder, 'token'), `${secret}\n`)
    const first = await start(['--token-file', join(folder, 'token')])
    expect((await sessionOf(first.serving, secret)).status).toBe(200)
    const editor = await added('editor', '--role', 'reader')
    const { id } = await sessionOf(first.serving, editor)
    const tools = await inSession(
      first.serving, id, { method: 'tools/call', params: { name: 'glob', arguments: { pattern: '*' } } }, editor,
    )
    expect(tools.text).toContain('RoleDenied')
    const stream = await fetch(first.serving.url, { headers: { ...PLAIN, ...bearer(editor), 'Mcp-Session-Id': id } })
    const ended = stream.body!.pipeTo(new WritableStream()).then(() => 'ended', () => 'ended')
    await token('revoke', 'editor')
    expect(await ended).toBe('ended')
    expect((await sessionOf(first.serving, editor)).status).toBe(401)
    expect(first.printed()).not.toContain(secret)
    await first.stop()
    const { stdout } = await inside(
      ['audit', 'tail', '--all', '--json', '--count', '50', '--home', join(folder, 'home')], folder,
    )
    const opened = (
      JSON.parse(stdout) as readonly { readonly record: { readonly type: string; readonly principal?: string } }[]
    ).filter(({ record }) => record.type === 'SessionOpened')
    expect(opened.map(({ record }) => record.principal)).toEqual([undefined, 'editor'])

    const builder = await added('builder')
    const second = await start([], { BULKHEAD_MCP_TOKEN: secret })
    expect(second.printed()).toMatch(/^Authorization: Bearer TOKEN \(the given token, builder\)$/m)
    expect([
      (await sessionOf(second.serving, secret)).status, (await sessionOf(second.serving, builder)).status,
    ]).toEqual([200, 200])
    writeFileSync(file, '{')
    expect((await sessionOf(second.serving, builder)).status).toBe(401)
    await vi.waitFor(() => expect(second.printed()).toMatch(/mcp: The tokens in .* cannot be used/), WAIT)
    await second.stop()
  })

  it.each([
    [['--token-file', 'token'], '--token-file requires --http.'],
    [['--http', '--token-file', 'none'], 'none cannot be read'],
    [['--http', '--token-file', 'short'], 'short must contain one token of 16 or more characters'],
  ])('refuses mcp %j', async (words, message) => {
    writeFileSync(join(folder, 'short'), 'short\n')
    expect(await inside(['mcp', ...words, ...places()], folder)).toMatchObject({
      code: 2, stderr: expect.stringContaining(message),
    })
  })

  it('refuses a variable that is no token', async () => {
    const { code, stderr } = await inside(['mcp', '--http', ...places()], folder, { BULKHEAD_MCP_TOKEN: 'a b' })
    expect([code, stderr]).toEqual([
      2, expect.stringContaining('The variable BULKHEAD_MCP_TOKEN must contain one token'),
    ])
  })
})
