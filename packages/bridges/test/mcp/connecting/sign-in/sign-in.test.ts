import { chmodSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { McpServerConfig } from '@bulkhead/contract'
import type { JsonObject } from '@bulkhead/kit/json'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { McpServers } from '../../../../src/mcp/index.ts'
import { AccountServer } from '../fixtures/account-server.ts'
import { now, resolved, Setup } from '../setup.ts'

let setup: Setup
let server: AccountServer
beforeEach(async () => {
  setup = new Setup()
  server = await new AccountServer().open()
})
afterEach(async () => {
  await setup.close()
  server.close()
})

type Remote = Extract<McpServerConfig, { type: 'remote' }>

const folder = () => join(setup.folder, 'oauth')
const file = () => join(folder(), readdirSync(folder())[0]!)
const stored = () => JSON.parse(readFileSync(file(), 'utf8')) as JsonObject

function open(more: Partial<Remote> = {}, env: Readonly<Record<string, string>> = {}): McpServers {
  const servers = setup.open({ credentials: folder(), env })
  servers.offer(resolved({ ship: { type: 'remote', url: server.url, ...more } }))
  return servers
}

/** A person who opens the address at once. */
const signIn = (servers: McpServers, visit: (page: URL) => void = (page) => void fetch(page)) =>
  servers.signIn('ship', { show: visit, signal: now() })

async function call(servers: McpServers, more: Partial<Remote> = {}): Promise<JsonObject> {
  const [extension] = servers.offer(resolved({ ship: { type: 'remote', url: server.url, ...more } })).extensions
  const { execute } = extension!.module(['ship_echo']).tools['ship_echo']!
  const run = execute as unknown as (args: JsonObject, runtime: object) => Promise<JsonObject>
  return run({}, { signal: now(), progress: () => undefined })
}

describe('a sign-in', () => {
  it('stores tokens that only the user can read, and sends them to the server only', async () => {
    const servers = open({ headers: { 'x-key': { secret: 'KEY' } } }, { KEY: 's3cr3t-of-the-key' })
    await signIn(servers)
    expect(servers.status).toMatchObject([{ state: 'connected', tools: 1 }])
    expect(statSync(file()).mode & 0o777).toBe(0o600)
    expect(statSync(folder()).mode & 0o777).toBe(0o700)
    expect(stored()).toMatchObject({
      url: server.url, client: { client_id: 'registered', issuer: server.origin },
      tokens: { access_token: 'access-1-of-the-ship', issuer: server.origin },
    })
    const others = server.requests.filter(({ path }) => path !== '/mcp')
    expect(JSON.stringify(others)).not.toMatch(/s3cr3t-of-the-key|access-1/)
    // The tool echoes its headers: neither the key nor the token reaches the result.
    expect(JSON.stringify(await call(servers, { headers: { 'x-key': { secret: 'KEY' } } })))
      .toMatch(/\[secret KEY\].*\[secret access token \d\]|\[secret access token \d\].*\[secret KEY\]/)
  })

  it('happens only if a person starts it', async () => {
    const servers = open()
    await servers.connect(now())
    expect(servers.status).toMatchObject([{
      state: 'unavailable',
      error: { code: 'SignInRequired', message: expect.stringContaining('Run `bulkhead mcp login ship`') },
    }])
    expect(new Set(server.paths())).toEqual(new Set(['/mcp']))
  })

  it('refreshes a rejected token once for all requests, and then requires a new sign-in', async () => {
    const servers = open()
    await signIn(servers)
    server.valid.clear()
    const requests = server.requests.length
    expect(await Promise.all([call(servers), call(servers)])).toHaveLength(2)
    expect(server.requests.slice(requests).filter(({ path }) => path === '/token')).toHaveLength(1)
    expect(stored()).toMatchObject({ tokens: { access_token: 'access-2-of-the-ship', scope: 'ships' } })
    server.valid.clear()
    server.refreshTokens.clear()
    await expect(call(servers)).rejects.toMatchObject({ code: 'SignInRequired' })
    expect(stored()).not.toHaveProperty('tokens')
  })

  it('uses the registration again, and forgets everything with the sign-out', async () => {
    const servers = open()
    await signIn(servers)
    await signIn(servers)
    expect(server.paths().filter((path) => path === '/register')).toHaveLength(1)
    expect(await servers.signOut('ship')).toBe(true)
    expect(readdirSync(folder())).toEqual([])
    expect(await servers.signOut('ship')).toBe(false)
    await expect(call(servers)).rejects.toMatchObject({ code: 'SignInRequired' })
  })

  it('sends a configured secret to the authorization server of the first sign-in only', async () => {
    const oauth = { clientId: 'ours', clientSecret: { secret: 'CLIENT' }, scopes: ['harbour'] }
    const servers = open({ oauth }, { CLIENT: 's3cr3t-of-the-client' })
    const pages: URL[] = []
    await signIn(servers, (page) => {
      pages.push(page)
      void fetch(page)
    })
    expect(pages.map(({ searchParams }) => searchParams.get('scope'))).toEqual(['harbour'])
    expect(JSON.stringify(stored())).not.toContain('s3cr3t')
    const other = await new AccountServer().open()
    try {
      server.options = { resource: () => ({ authorization_servers: [other.origin] }) }
      server.valid.clear()
      await expect(signIn(servers)).rejects.toMatchObject({
        code: 'SignInFailed', message: expect.stringContaining(`is now ${other.origin}`),
      })
      expect(JSON.stringify(other.requests)).not.toContain(Buffer.from('ours:s3cr3t-of-the-client').toString('base64'))
      expect(other.paths()).not.toContain('/token')
    } finally {
      other.close()
    }
  })

  it('is not redirected by a page without the state', async () => {
    const statuses: number[] = []
    await signIn(open(), (page) => {
      const redirect = page.searchParams.get('redirect_uri')!
      void (async () => {
        for (const query of ['?code=forged', '?code=forged&state=forged', '?state=']) {
          statuses.push((await fetch(redirect + query)).status)
        }
        statuses.push((await fetch(redirect, { method: 'POST' })).status)
        await fetch(page)
      })()
    })
    expect(statuses).toEqual([400, 400, 400, 400])
  })
})

describe('a faulty sign-in', () => {
  it.each([
    ['if the person refuses', {}, 'access_denied'],
    ['without PKCE', { metadata: () => ({ code_challenge_methods_supported: undefined }) }, 'does not support PKCE'],
    [
      'with a sign-in page of another scheme', { metadata: () => ({ authorization_endpoint: 'file:///etc/passwd' }) },
      'is neither an http nor',
    ],
    [
      'with a page without https', { metadata: () => ({ authorization_endpoint: 'http://harbour.example/' }) },
      'does not use https',
    ],
    ['with another issuer', { metadata: () => ({ issuer: 'https://other.example' }) }, 'Issuer mismatch'],
    [
      'with metadata of another server', { resource: () => ({ resource: 'https://other.example/mcp' }) },
      'does not match',
    ],
    [
      'with an authorization server at a metadata address',
      { resource: () => ({ authorization_servers: ['https://169.254.169.254'] }) }, 'not public (metadata)',
    ],
    [
      'with an authorization server in a private network',
      { resource: () => ({ authorization_servers: ['https://10.0.0.1'] }) }, 'not public (private)',
    ],
    ['with metadata elsewhere', { resourceMetadata: 'https://[fd00:ec2::254]/latest' }, 'not public (metadata)'],
  ])('fails %s, and says so', async (_title, options, message) => {
    server.options = options
    const refuse = (page: URL) => {
      const query = new URLSearchParams({ error: 'access_denied', state: page.searchParams.get('state')! })
      void fetch(`${page.searchParams.get('redirect_uri')}?${query}`)
    }
    await expect(signIn(open(), refuse)).rejects.toMatchObject({
      code: 'SignInFailed', message: expect.stringContaining(message),
    })
  })

  it('is not started if the server has another way to authorize', async () => {
    const servers = open({ headers: { authorization: { secret: 'T' } } }, { T: 'Bearer x' })
    await expect(signIn(servers)).rejects.toMatchObject({ code: 'SignInFailed' })
    await expect(servers.signIn('nobody', { show: () => undefined, signal: now() })).rejects.toThrow(
      'no MCP server "nobody"',
    )
  })
})

it('uses no tokens of a file that others can read', async () => {
  const servers = open()
  await signIn(servers)
  chmodSync(file(), 0o644)
  await expect(call(servers)).rejects.toMatchObject({ code: 'StoreUnavailable' })
})
