import { describe, expect, it } from 'vitest'
import { callOf, codeOf, fetchRaw, newNet, reach, refusal, errorWith, serve } from './loopback.ts'

/**
 * Two servers on one port. The grant lists the one at 127.0.0.1. The one at 127.0.0.2 must never receive
 * anything.
 */
async function pair() {
  const granted = await serve((_request, response) => response.setHeader('connection', 'close').end('granted'))
  const canary = await serve((_request, response) => response.end('canary'), { host: '127.0.0.2', port: granted.port })
  const name = `rebind.test:${granted.port}`
  return { granted, canary, hosts: [name, granted.place], url: `http://${name}/` }
}

describe('a name that changes its address', () => {
  it('is resolved once per connection, which goes to the checked address', async () => {
    const { granted, canary, hosts, url } = await pair()
    const answers = [['127.0.0.1'], ['127.0.0.2'], ['127.0.0.2']]
    let lookups = 0
    const net = newNet({ lookup: async () => answers[lookups++]! })
    expect(await (await reach(net, callOf(hosts)).fetch(url)).text()).toBe('granted')
    expect(lookups).toBe(1)
    expect(granted.requests[0]!.headers.host).toBe(`rebind.test:${granted.port}`)
    expect(canary.sockets).toHaveLength(0)
  })

  it('is denied at the next connection of the same call', async () => {
    const { granted, canary, hosts, url } = await pair()
    const answers = [['127.0.0.1'], ['127.0.0.2']]
    const net = newNet({ lookup: async () => answers.shift()! })
    const call = callOf(hosts)
    expect(await (await reach(net, call).fetch(url)).text()).toBe('granted')
    expect(await codeOf(fetchRaw(net, call, url))).toBe('CapabilityDenied')
    expect(granted.sockets).toHaveLength(1)
    expect(canary.sockets).toHaveLength(0)
  })

  it('is denied if it redirects to itself and then has another address', async () => {
    const head = { location: '/again', connection: 'close' }
    const { port, seen, place } = await serve((_request, response) => response.writeHead(302, head).end())
    const canary = await serve((_request, response) => response.end(), { host: '127.0.0.2', port })
    const answers = [['127.0.0.1'], ['127.0.0.2']]
    const net = newNet({ lookup: async () => answers.shift()! })
    const name = `rebind.test:${port}`
    expect(await codeOf(fetchRaw(net, callOf([name, place]), `http://${name}/`))).toBe('CapabilityDenied')
    expect(seen).toEqual(['GET /'])
    expect(canary.sockets).toHaveLength(0)
  })

  it.each([
    [['127.0.0.1', '127.0.0.2']], [['127.0.0.2', '127.0.0.1']], [['93.184.216.34', '127.0.0.2']], [['127.0.0.2']],
    [['::1']],
    [['::ffff:127.0.0.2']], [['10.0.0.1']], [['169.254.169.254']],
    [['0.0.0.0']], [['::']], [['fe80::1%lo']], [['not an address']], [['']],
  ])('is denied completely for %j', async (addresses) => {
    const { granted, canary, hosts, url } = await pair()
    expect(await codeOf(fetchRaw(newNet({ lookup: async () => addresses }), callOf(hosts), url)))
      .toBe('CapabilityDenied')
    expect(granted.sockets).toHaveLength(0)
    expect(canary.sockets).toHaveLength(0)
  })

  it('may have an address that the grant lists in another spelling', async () => {
    const { hosts, url } = await pair()
    const net = newNet({ lookup: async () => ['::ffff:127.0.0.1'] })
    expect(await (await reach(net, callOf(hosts)).fetch(url)).text()).toBe('granted')
  })

  it.each(['localhost', 'api.localhost'])('may not lead to another machine if it is %s', async (host) => {
    const net = newNet({ lookup: async () => ['93.184.216.34'] })
    const error = await refusal(fetchRaw(net, callOf([host]), `http://${host}/`))
    expect(error).toMatchObject(errorWith('CapabilityDenied', 'does not resolve to this machine'))
  })

  it('does not use the grant or connections of another tool', async () => {
    const { granted, url } = await pair()
    const net = newNet({ lookup: async () => ['127.0.0.1'] })
    const wide = callOf([`rebind.test:${granted.port}`, `127.0.0.1:${granted.port}`])
    const narrow = callOf([`rebind.test:${granted.port}`])
    await (await reach(net, wide).fetch(url)).text()
    expect(await codeOf(fetchRaw(net, narrow, url))).toBe('CapabilityDenied')
    expect(granted.sockets).toHaveLength(1)
  })
})
