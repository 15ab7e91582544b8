import { afterEach, beforeEach, expect, it } from 'vitest'
import { LONG } from '../../../../../scripts/thoroughly.ts'
import { Setup, call, connectedTo, now, resolved } from './setup.ts'

let setup: Setup
beforeEach(() => { setup = new Setup() })
afterEach(() => setup.close())

it('kills a server that sends an endless line', async () => {
  const servers = setup.open()
  const extension = await connectedTo(
    servers, resolved({ ship: setup.raw({ tools: [{ name: 'pour', inputSchema: { type: 'object' } }], flood: true }) }),
  )
  await expect(call(extension, 'ship_pour')).rejects.toMatchObject({
    code: 'MessageTooLarge', message: expect.stringMatching(/A line has more than \d+ bytes\. Request less data/),
  })
  expect(servers.status).toMatchObject([{ state: 'unavailable' }])
})

it('reports a list of tools that is too large', LONG, async () => {
  const servers = setup.open()
  await connectedTo(
    servers, resolved({ ship: setup.raw({ tools: [{ name: 'go', description: 'x'.repeat(17_000_000) }] }) }),
  )
  expect(servers.status).toMatchObject([
    {
      error: {
        message: expect.stringMatching(
          /^mcp server ship is unavailable: it sent a message that is too large: A line has more than \d+ bytes\.( |$)/,
        ),
      },
    },
  ])
})

it('stops a server that does not respond in time', async () => {
  const servers = setup.open({ connectMs: 300 })
  servers.offer(
    resolved({
      mute: setup.raw({ tools: [], silent: 'initialize' }),
      slow: setup.raw({ tools: [], silent: 'tools/list' }, 'slow.json'),
    }),
  )
  await servers.connect(now())
  expect(servers.status).toMatchObject([
    {
      name: 'mute', state: 'unavailable', error: { message: expect.stringContaining('did not respond within 300 ms') },
    },
    {
      name: 'slow', state: 'unavailable', error: { message: expect.stringContaining('did not respond within 300 ms') },
    },
  ])
})

it('stops waiting for a server when its caller does', async () => {
  const servers = setup.open({ connectMs: 60_000 })
  const mute = setup.raw({ tools: [], silent: 'initialize' })
  servers.offer(resolved({ mute }))
  const stop = new AbortController()
  const waiting = servers.connect(stop.signal)
  expect(servers.status).toMatchObject([{ state: 'connecting' }])
  stop.abort()
  await waiting
  expect(servers.status).toMatchObject([{ state: 'connecting' }])
  await servers.close()
})

it('ignores invalid messages, and escapes error messages of a server', async () => {
  const servers = setup.open()
  const extension = await connectedTo(
    servers, resolved({ ship: setup.raw({ tools: [{ name: 'go' }], noise: ['Listening!', '', '{"half":'] }) }),
  )
  expect(extension.manifest.tools).toMatchObject([
    { name: 'ship_go', description: 'MCP tool (no description)', inputSchema: { type: 'object', properties: {} } },
  ])
  expect(extension.manifest.version).toMatch(/^0\.0\.0\+/)
  await expect(call(extension, 'ship_go')).rejects.toMatchObject({
    code: 'ToolExecutionFailed', message: expect.stringContaining('\\u{1b}[31mhere'),
  })
})
