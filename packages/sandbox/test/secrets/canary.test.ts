import type { CompartmentRequest, CompartmentSession, SecretGrant } from '@bulkhead/contract'
import type { Json } from '@bulkhead/kit/json'
import { describe, expect, it } from 'vitest'
import { Broker } from '../../../broker/src/broker.ts'
import { startSession } from '../../src/session/open.ts'
import { remotePeer } from '../../src/session/peer.ts'
import { KINDS } from '../../src/wire/message.ts'
import { REDACTED } from '../../../broker/src/secrets/redaction.ts'
import { invocation, newSandbox, REMOTE, requestOf, running, temporaryFolder, toolOf } from '../fixture.ts'
import { serve } from '../../../broker/test/net/loopback.ts'
import { ScriptedPeer } from '../scripted-peer.ts'
import { codeOf, SECRET } from '../../../broker/test/secrets/setup.ts'

/** Uses the secret in every way, and returns, logs and shows everything it gets. */
const CURIOUS = running(`
  const results = []
  const report = (value) => {
    results.push(value)
    runtime.log.info(JSON.stringify(value ?? null))
    runtime.progress(JSON.stringify(value ?? null))
    runtime.update(value ?? null)
  }
  const fault = ({ code, message, data }) => ({ code, message, data })
  const attempt = async (work) => report(await work().catch(fault))
  const handle = await runtime.secrets.handle('TOKEN')
  report(handle)
  const fetched = async (url, headers, more) => {
    const response = await runtime.net.fetch(url, { headers, ...more })
    return { url: response.url, headers: response.headers, body: await response.text() }
  }
  await attempt(() => fetched(args.mine + '/echo', { authorization: 'Bearer ' + handle }))
  await attempt(() => fetched(args.mine + '/away', { authorization: handle, accept: handle }))
  await attempt(() => fetched(args.other + '/echo', { authorization: handle }))
  await attempt(
    () => fetched(args.mine + '/none/' + encodeURIComponent(handle), { 'x-a': handle, 'x-b': 'x' + handle }),
  )
  await attempt(() => fetched('http://127.0.0.1:1/', { authorization: handle }))
  await attempt(() => runtime.shell.run('echo', ['token', handle]))
  await attempt(() => runtime.shell.run('cat', [], { input: handle }))
  await attempt(() => runtime.shell.run('ls', ['/' + handle]))
  await attempt(() => runtime.env.get('TOKEN'))
  await attempt(() => runtime.secrets.handle('OTHER'))
  await attempt(() => runtime.fs.write('note.txt', handle))
  await attempt(() => runtime.fs.readText('note.txt'))
  return results
`)

describe.each(REMOTE)('a compartment in a %s', (placement) => {
  it('uses a secret and never sees its value', async () => {
    const workspace = await temporaryFolder()
    const other = await serve((request, response) => response.end(JSON.stringify(request.headers)))
    const mine = await serve((request, response) => {
      if (request.url === '/away') response.writeHead(302, { location: `${other.base}/` }).end()
      else response.setHeader('x-echo', request.headers['authorization'] ?? '').end(JSON.stringify(request.headers))
    })
    const wild = { wildcard: true } as const
    const requires = {
      net: { hosts: [mine.place, other.place, '127.0.0.1:1'] },
      shell: [{ cmd: 'echo', args: [wild, wild] }, { cmd: 'cat' }, { cmd: 'ls', args: [wild] }],
      fs: { read: ['**'], write: ['**'] },
    }
    const secret: SecretGrant = { value: SECRET, hosts: [mine.place, '127.0.0.1:1'], commands: ['echo', 'cat'] }
    const request = requestOf({
      placement, source: CURIOUS, tools: [toolOf('run', requires, workspace)],
      services: { envDeclared: new Set(['A']), secrets: new Map([['TOKEN', secret]]) },
    })
    const shown: Json[] = []
    const session = await newSandbox(workspace).open(request)
    const result = await session.call(invocation({ mine: mine.base, other: other.base }, {
      onProgress: (text) => shown.push(text), onUpdate: (partial) => shown.push(partial),
    })) as Json[]
    // The secret was used.
    expect(mine.requests[0]!.headers.authorization).toBe(`Bearer ${SECRET}`)
    expect(other.requests.map(({ headers }) => JSON.stringify(headers)).join()).not.toContain(SECRET)
    expect(result).toHaveLength(13)
    expect(result[1]).toMatchObject({ headers: { 'x-echo': `Bearer ${REDACTED}` } })
    expect(result[3]).toMatchObject({ code: 'CapabilityDenied' })
    expect(result[6]).toMatchObject({ stdout: `token ${REDACTED}\n` })
    expect(result[7]).toMatchObject({ stdout: REDACTED })
    expect(result[8]).toMatchObject({ code: 'CapabilityDenied' })
    // Its value does not appear anywhere.
    expect(shown.length).toBeGreaterThan(20)
    expect(request.logged.length).toBeGreaterThan(10)
    expect(JSON.stringify([result, shown, request.logged])).not.toContain(SECRET)
  })
})

describe('the messages to a compartment', () => {
  it('never contain the value of a secret', async () => {
    const workspace = await temporaryFolder()
    const server = await serve((request, response) => response.setHeader('x-echo', request.headers['authorization']
      ?? '')
      .end(`${request.headers['authorization']} ${SECRET}\n`))
    const requires = { net: { hosts: [server.place] }, shell: [{ cmd: 'echo', args: [{ wildcard: true }] }] }
    const tools = [toolOf('run', requires, workspace)]
    const secret: SecretGrant = { value: SECRET, hosts: [server.place], commands: ['echo'] }
    const peer = new RecordingPeer(workspace)
    const request: CompartmentRequest = requestOf({
      placement: 'thread', source: '', tools, services: { secrets: new Map([['TOKEN', secret]]) },
    })
    const session: CompartmentSession = await peer.session(request)
    const answer = session.call(invocation({}, { callId: 'c1' }))
    const { id } = await peer.next('execute')
    const handle = await peer.ask('secrets.handle', 'c1', 'TOKEN')
    const headers = { authorization: handle }
    const head = await peer.ask('net.fetch', 'c1', `${server.base}/`, { headers }) as { bodyId: string }
    expect(await peer.ask('net.read', 'c1', head.bodyId))
      .toBe(Buffer.from(`${REDACTED} ${REDACTED}\n`).toString('base64'))
    expect(await peer.ask('shell.run', 'c1', 'echo', [handle])).toMatchObject({ stdout: `${REDACTED}\n` })
    await peer.ask('secrets.handle', 'c1', 'NONE')
    await peer.ask('env.get', 'c1', 'TOKEN')
    peer.reply(id, null)
    await answer
    expect(server.requests[0]!.headers.authorization).toBe(SECRET)
    expect(peer.packets.length).toBeGreaterThan(6)
    // Bodies cross in base64.
    const plain = peer.packets.join('\n')
    const shifted = [0, 1, 2].map((shift) => Buffer.from(' '.repeat(shift) + SECRET).toString('base64').slice(4, -4))
    for (const form of [SECRET, ...shifted]) {
      expect(plain).not.toContain(form)
    }
  })

  it('refuse secrets to a compartment that has none', async () => {
    const source = running('return { has: "secrets" in runtime }')
    const session = await newSandbox().open(requestOf({ placement: 'thread', source }))
    expect(await session.call(invocation())).toEqual({ has: false })
    const broker = new Broker(requestOf({ placement: 'thread', source }), '/')
    const call = { callId: 'c', tool: toolOf('run'), signal: new AbortController().signal }
    broker.open(call)
    expect(await codeOf(broker.methods['secrets.handle']('c', 'TOKEN'))).toBe('CapabilityDenied')
    broker.end(call)
  })
})

/** A scripted compartment that calls the broker and keeps every packet. */
class RecordingPeer extends ScriptedPeer {
  readonly packets: string[] = []
  readonly #workspace: string
  #asked = 0

  constructor(workspace: string) {
    super()
    this.#workspace = workspace
    const { transport } = this.hull
    const send = transport.send.bind(transport)
    Object.defineProperty(transport, 'send', { value: (packet: string) => {
      this.packets.push(packet)
      send(packet)
    } })
  }

  override open(request: CompartmentRequest): Promise<CompartmentSession> {
    const broker = new Broker(request, this.#workspace)
    return startSession(request, broker, remotePeer(this.hull, broker, request.limits))
  }

  async ask(method: string, ...args: readonly unknown[]): Promise<unknown> {
    const id = ++this.#asked
    this.send([KINDS.broker.request, id, method, args])
    for (;;) {
      const { kind, id: answered, value } = await this.next()
      if (kind !== KINDS.call.request && answered === id) return value
    }
  }
}
