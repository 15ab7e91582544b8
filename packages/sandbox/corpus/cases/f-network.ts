import { attacksOf } from '../model/case.ts'

const attack = attacksOf('F')

/** A connection with a module of Node. */
const by = (module: string, work: string): string => `
  return { ambient: await attempt(async () => {
    const module = await reach('${module}')
    ${work}
  }) }
`
const DENIED = { ambient: 'BuiltinDenied' }
const SECURE = '{ port: facts.port, host: "127.0.0.1", rejectUnauthorized: false }'

/** Only the operating system can contain it. */
export const BROKEN_OUT = { alone: true, heldBy: 'system without bubblewrap', where: 'Landlock or namespaces' } as const

export const network = [
  attack(378, 'opens a connection from code that has escaped from Node, without bubblewrap', `
    const held = (outcome) => typeof outcome === 'string' ? 'refused' : outcome
    const net = await library('net')
    return {
      loopback: held(await attempt(() => event(net.connect(facts.port, '127.0.0.1'), 'connect'))),
      granted: held(await attempt(() => event(net.connect(facts.grantedPort, '127.0.0.1'), 'connect'))),
      interfaces: held(await attempt(async () => {
        const names = Object.keys((await reach('os')).networkInterfaces())
        if (names.length === 0) throw { code: 'none' }
        return names
      })),
    }
  `, { loopback: 'refused', granted: 'refused', interfaces: 'refused' }, BROKEN_OUT),
  attack(56, 'opens a TCP connection',
    by('net', "return event(module.connect(facts.port, '127.0.0.1'), 'connect')"), DENIED),
  attack(57, 'connects to a Unix socket',
    by('net', "return event(module.connect(facts.work + '/../listen.sock'), 'connect')"), DENIED),
  attack(58, 'listens on a Unix socket', by('net', `
    const server = module.createServer().listen(facts.outside + '/made.sock')
    await event(server, 'listening')
    return 'listens'
  `), DENIED),
  attack(59, 'listens on a port', by('net', `
    const server = module.createServer().listen(0)
    await event(server, 'listening')
    server.close()
    return 'listened'
  `), DENIED),
  attack(60, 'connects with TLS',
    by('tls', `return event(module.connect(${SECURE}), 'secureConnect', 'close')`), DENIED),
  attack(61, 'sends a request with HTTP',
    by('http', "return event(module.get('http://127.0.0.1:' + facts.port), 'response')"), DENIED),
  attack(62, 'sends a request with HTTPS', by('https', `return event(module.get(${SECURE}), 'response')`), DENIED),
  attack(63, 'sends a request with HTTP/2', by(
    'http2', "return event(module.connect('http://127.0.0.1:' + facts.port), 'connect')",
  ), DENIED),
  attack(64, 'sends a request with fetch', `
    const url = 'http://127.0.0.1:' + facts.port
    return {
      fetch: await attempt(async () => (await use(globalThis, 'fetch')(url)).text()),
      request: await attempt(() => new (use(globalThis, 'Request'))(url) && 'there'),
      undici: await attempt(async () => (await import('undici')).fetch),
      data: await attempt(async () => (await use(globalThis, 'fetch')('data:text/plain,x')).text()),
      net: await attempt(() => use(runtime, 'net') && 'there'),
    }
  `, {
    fetch: 'CapabilityDenied', request: 'CapabilityDenied', undici: 'ModuleNotFound', data: 'CapabilityDenied',
    net: 'CapabilityDenied',
  }),
  attack(65, 'opens a WebSocket', `
    return { socket: await attempt(() => new Promise((resolve, reject) => {
      const socket = new (use(globalThis, 'WebSocket'))('ws://127.0.0.1:' + facts.port)
      socket.onopen = () => resolve('open')
      socket.onerror = () => reject({ code: 'failed' })
    })) }
  `, { socket: 'absent' }),
  attack(66, 'opens an EventSource', `
    return { source: await attempt(() => new Promise((resolve, reject) => {
      const source = new (use(globalThis, 'EventSource'))('http://127.0.0.1:' + facts.port)
      source.onopen = () => resolve('open')
      source.onerror = () => reject({ code: 'failed' })
    })) }
  `, { source: 'absent' }, { control: 'inert' }),
  attack(67, 'sends datagrams', by('dgram', `
    const socket = module.createSocket('udp4')
    await new Promise((sent, failed) => socket.send('x', facts.udpPort, '127.0.0.1', (error) =>
      error ? failed(error) : sent()))
    socket.close()
    return 'sent'
  `), DENIED),
  attack(68, 'encodes data in a DNS name', by('dns', `
    return new Promise((resolve, reject) => module.lookup('localhost', (error, address) => error
      ? reject(error) : resolve(address)))
  `), DENIED),
  attack(69, 'sends a DNS query', by('dns', `
    module.setServers(['127.0.0.1:' + facts.udpPort])
    return Promise.race([
      module.promises.resolve4('words.corpus.test'), new Promise((asked) => setTimeout(asked, 300, 'asked')),
    ])
  `), DENIED),
  attack(70, 'sends a DNS query to another server', by('dns', `
    const resolver = new module.promises.Resolver({ timeout: 200, tries: 1 })
    resolver.setServers(['127.0.0.1:' + facts.udpPort])
    return resolver.resolveTxt('words.corpus.test').catch(({ code }) => {
      if (code !== 'ETIMEOUT') throw { code }
      return 'asked'
    })
  `), DENIED),
  attack(71, 'follows a redirect from a granted host to one that is not granted', `
    const at = (path) => attempt(async () =>
      (await runtime.net.fetch('http://localhost:' + facts.grantedPort + path)).text())
    return {
      granted: (await (await runtime.net.fetch('http://localhost:' + facts.grantedPort + '/')).text()),
      address: await at('/to-address'), decimal: await at('/to-decimal'), mapped: await at('/to-mapped'),
      name: await at('/to-name'),
      metadata: await at('/to-metadata'), file: await at('/to-file'),
      seen: (await runtime.net.fetch('http://localhost:' + facts.grantedPort + '/to-address',
        { redirect: 'manual' })).status,
    }
  `, {
    granted: 'granted', address: 'CapabilityDenied', decimal: 'CapabilityDenied', mapped: 'CapabilityDenied',
    name: 'CapabilityDenied',
    metadata: 'CapabilityDenied', file: 'CapabilityDenied', seen: 302,
  }, { requires: { net: { hosts: ['localhost:$granted', '*.corpus.test:$granted'] } }, control: 'none' }),
  attack(72, 'uses a granted name that resolves to this machine', `
    const at = (host) => attempt(async () =>
      (await runtime.net.fetch('http://' + host + ':' + facts.port + '/')).text())
    // The first address is public and unreachable, the second is this machine.
    at('rebind.corpus.test')
    return { home: await at('private.corpus.test'), mixed: await at('mixed.corpus.test'),
      rebound: await at('rebind.corpus.test') }
  `, { home: 'CapabilityDenied', mixed: 'CapabilityDenied', rebound: 'CapabilityDenied' }, {
    requires: { net: { hosts: ['*.corpus.test:$canary', 'localhost:$granted'] } }, control: 'none', alone: true,
  }),
  attack(73, 'names a host that parsers read differently', `
    const { port, grantedPort } = facts
    const urls = [
      'http://localhost:' + grantedPort + '@127.0.0.1:' + port, 'http://127.0.0.1:' + port, 'http://127.1:' + port,
      'http://2130706433:' + port,
      'http://0x7f.1:' + port, 'http://0177.0.0.1:' + port, 'http://[::1]:' + port, 'http://[::ffff:7f00:1]:' + port,
      'http://[::ffff:127.0.0.1]:' + port, 'http://localhost.:' + port, 'http://0.0.0.0:' + port, 'http://0:' + port,
      'http://localhost:' + grantedPort + '\\\\@127.0.0.1:' + port, 'http://\\uff11\\uff12\\uff17.0.0.1:' + port,
      'http://127.0.0.1%00.corpus.test:' + port,
      'http://localhost:' + grantedPort + '\\n@127.0.0.1:' + port, 'http:127.0.0.1:' + port, '//127.0.0.1:' + port,
      'http://loc\\u00adalhost:' + port,
      'file:///etc/passwd', 'data:text/plain,x', 'ftp://localhost:' + grantedPort, 'http://localhost:' + port,
      'http://localhost:99999',
    ]
    const outcomes = []
    for (const url of urls) outcomes.push(await attempt(async () => (await runtime.net.fetch(url)).text()))
    return { refused: outcomes.filter((outcome) => outcome === 'CapabilityDenied' || outcome === 'InputInvalid').length,
      of: urls.length }
  `, { refused: 24, of: 24 }, {
    requires: { net: { hosts: ['localhost:$granted', '*.corpus.test:$granted'] } }, control: 'none',
  }),
  attack(265, 'sends headers that change the meaning of a request', `
    const url = 'http://localhost:' + facts.grantedPort + '/'
    const withHeaders = (headers, more = {}) => attempt(async () =>
      (await runtime.net.fetch(url, { headers, ...more })).status)
    return {
      host: await withHeaders({ host: '127.0.0.1:' + facts.port }),
      split: await withHeaders({ x: 'a\\r\\nhost: evil' }),
      length: await withHeaders({ 'content-length': '5' }),
      transfer: await withHeaders({ 'transfer-encoding': 'chunked' }),
      connection: await withHeaders({ connection: 'upgrade', upgrade: 'websocket' }),
      method: await withHeaders({}, { method: 'CONNECT' }),
      odd: await withHeaders({}, { method: 'GET / HTTP/1.1\\r\\nhost: evil' }),
    }
  `, {
    host: 'InputInvalid', split: 'InputInvalid', length: 'InputInvalid', transfer: 'InputInvalid',
    connection: 'InputInvalid',
    method: 'InputInvalid', odd: 'InputInvalid',
  }, { requires: { net: { hosts: ['localhost:$granted', '*.corpus.test:$granted'] } }, control: 'none' }),
]
