import { afterEach, expect, it, vi } from 'vitest'
import { OauthTokens, type CallRuntime } from '../../../src/openapi/calling/authorization.ts'

afterEach(() => void vi.useRealTimers())

const DAY_MS = 24 * 60 * 60 * 1_000
const CLIENT = {
  kind: 'oauth2', secret: 'KEY', clientId: 'me', tokenUrl: 'https://login.example/token', scopes: [],
} as const

/** A token server that answers with this body. */
const runtimeOf = (body: () => string): CallRuntime => ({
  net: { fetch: async () => ({ status: 200, headers: {}, body: [Buffer.from(body())] }) },
  secrets: { handle: async (name: string) => `{{secret:${name}}}` },
}) as unknown as CallRuntime

it('fetches a token again after a day, whatever its server says', async () => {
  vi.useFakeTimers({ toFake: ['Date'], now: 0 })
  let count = 0
  const runtime = runtimeOf(() => JSON.stringify({ access_token: `t${++count}`, expires_in: 1e9 }))
  const tokens = new OauthTokens()
  const got: string[] = []
  for (const at of [0, DAY_MS - 31_000, DAY_MS - 30_000]) {
    vi.setSystemTime(at)
    got.push(await tokens.get(CLIENT, runtime))
  }
  expect(got).toEqual(['t1', 't1', 't2'])
})

it('reads 64 KB of a token server', async () => {
  const padded = (length: number) => runtimeOf(() => JSON.stringify({ access_token: 't' }).padEnd(length))
  expect(await new OauthTokens().get(CLIENT, padded(65_536))).toBe('t')
  await expect(new OauthTokens().get(CLIENT, padded(65_537))).rejects.toThrow('login.example sent too much')
})
