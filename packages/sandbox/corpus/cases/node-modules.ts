import { attacksOf, returned } from '../model/case.ts'

/** Attacks on the modules of Node that every compartment has, and on those over `runtime` that libraries use. */
const alone = { alone: true, control: 'none' } as const
const [network, signals, modules, realm, exhaustion, lifecycle] =
  (['F', 'H', 'J', 'K', 'O', 'P'] as const).map((section) => attacksOf(section, alone))

const DENIED = 'CapabilityDenied'
const ABSENT = 'BuiltinDenied'
const RANGE = 'ERR_OUT_OF_RANGE'
const TOO_LARGE = 'ERR_BUFFER_TOO_LARGE'

export const nodeModules = [
  network!(400, 'reaches hosts outside the grant, through node:http', `
    const { default: http } = await import('node:http')
    const { default: https } = await import('node:https')
    const { default: net } = await import('node:net')
    const { default: dns } = await import('node:dns')
    const base = 'http://localhost:' + facts.grantedPort
    const other = 'http://127.0.0.1:' + facts.port
    const status = (...given) => attempt(() => new Promise((resolve, reject) => {
      http.get(...given, (response) => { response.resume(); resolve(response.statusCode) }).on('error', reject)
    }))
    const place = { hostname: '127.0.0.1', port: facts.port }
    return {
      granted: await status(base), other: await status(other), url: await status(new URL(other)),
      options: await status(place), both: await status(base, { ...place, path: '/' }),
      path: await status({ host: 'localhost', port: facts.grantedPort, path: '//127.0.0.1:' + facts.port + '/' }),
      header: await status(base, { headers: { host: '127.0.0.1:' + facts.port } }),
      redirect: await status(base + '/to-address'), socket: await status({ socketPath: '/tmp/x.sock', ...place }),
      agent: await status(other, { agent: new http.Agent(), createConnection: () => { throw new Error('used') } }),
      server: await attempt(() => http.createServer()), secure: await attempt(() => https.createServer()),
      connect: await attempt(() => net.connect(facts.port)), make: await attempt(() => new net.Socket({ fd: 0 })),
      lookup: await attempt(() => dns.lookup('localhost', () => {})), resolver: await attempt(() => new dns.Resolver()),
    }
  `, {
    granted: { got: 200 }, other: DENIED, url: DENIED, options: DENIED, both: { got: 200 }, path: { got: 200 },
    header: { got: 200 }, redirect: { got: 302 }, socket: DENIED, agent: DENIED, server: ABSENT, secure: ABSENT,
    connect: ABSENT, make: ABSENT, lookup: ABSENT, resolver: ABSENT,
  }, { requires: { net: { hosts: ['localhost:$granted'] } } }),
  signals!(401, 'uses powers of Node, through node:process and node:os', `
    const { default: imported } = await import('node:process')
    const { default: os } = await import('node:os')
    const powers = [
      'binding', '_linkedBinding', 'dlopen', 'getBuiltinModule', 'kill', 'abort', 'chdir', 'umask', 'setuid', 'report',
      'memoryUsage', 'resourceUsage', 'cpuUsage', '_getActiveHandles', 'mainModule', 'permission', 'loadEnvFile',
    ]
    const calls = ['binding', 'kill'].map((name) => attempt(() => imported[name]('fs')))
    return {
      powers: powers.filter((name) => name in imported), calls: await Promise.all(calls),
      walk: await attempt(() => imported.constructor.prototype.binding('fs')),
      made: await attempt(() => imported.nextTick.constructor('return process')().binding('fs')),
      stream: Reflect.ownKeys(imported.stdout).filter((key) => typeof key === 'symbol').length,
      facts: [os.hostname(), os.userInfo().username, os.cpus().length, os.totalmem() === os.freemem(), os.uptime()],
      priority: await attempt(() => os.setPriority(19)),
    }
  `, {
    powers: [], calls: ['TypeError', 'TypeError'], walk: 'TypeError', made: 'TypeError', stream: 0,
    facts: ['compartment', 'tool', 1, true, 0], priority: ABSENT,
  }),
  modules!(402, 'replaces globals before a native module is loaded', `
    const name = ['cry', 'pto'].join('')
    const taken = []
    const RealObject = Object
    globalThis.Object = new Proxy(RealObject, { get: (target, key) => (...given) => {
      taken.push(...given)
      return target[key](...given)
    } })
    globalThis.Uint8Array = function () { return { length: 9, byteLength: 9, buffer: {} } }
    const late = await attempt(() => import('node:' + name))
    const packed = await attempt(() => import('node:' + ['zl', 'ib'].join('')))
    const members = globalThis[Symbol.for('bulkhead.shims')]
    globalThis.Object = RealObject
    return { late, packed, members: await attempt(() => members(name)), taken: taken.length }
  `, { late: ABSENT, packed: ABSENT, members: { got: null }, taken: 0 }, { requires: { fs: { read: ['own/**'] } } }),
  realm!(403, 'reaches objects of Node behind the objects of node:crypto and node:zlib', `
    const { default: crypto } = await import('node:crypto')
    const { default: zlib } = await import('node:zlib')
    const { publicKey } = crypto.generateKeyPairSync('ed25519')
    const iv = new Uint8Array(16)
    const made = [
      crypto.createHash('sha256'), crypto.createHmac('sha256', 'k'), crypto.createSecretKey('k'), publicKey,
      crypto.createCipheriv('aes-128-cbc', iv, iv), crypto.createSign('sha256'), zlib.createGzip(),
      zlib.createInflate(),
      await crypto.subtle.generateKey({ name: 'AES-GCM', length: 128 }, false, ['encrypt']),
    ]
    const found = new Set()
    const look = (value, depth) => {
      if (typeof value !== 'object' && typeof value !== 'function' || value === null || depth > 5) return
      for (const key of Reflect.ownKeys(value)) {
        const inner = Object.getOwnPropertyDescriptor(value, key).value
        const name = typeof inner === 'object' && inner !== null ? inner.constructor?.name : undefined
        const isOfNode = /Handle|Wrap|^Zlib|^Hash|^Hmac|^Sign|KeyObject|^Cipher|Binding/.test(name)
        if (isOfNode && key !== 'prototype') found.add(String(key))
        look(inner, depth + 1)
      }
    }
    for (const value of made) for (let at = value; at && at !== Object.prototype; at = Object.getPrototypeOf(at)) {
      look(at, 0)
    }
    const forged = Object.create(Object.getPrototypeOf(made[2]))
    return {
      found: [...found], forged: await attempt(() => crypto.createHmac('sha256', forged)),
      exported: await attempt(() => crypto.subtle.exportKey('raw', made.at(-1))),
      method: await attempt(() => made[0].update.call({}, 'x')), read: await attempt(() => forged.export()),
    }
  `, { found: [], forged: 'TypeError', exported: 'InvalidAccessError', method: 'TypeError', read: 'TypeError' }),
  realm!(404, 'gives native modules values that lie about themselves', `
    const { default: crypto } = await import('node:crypto')
    const { default: zlib } = await import('node:zlib')
    const lying = new Uint8Array([97])
    for (const [key, value] of [['byteLength', -1], ['byteOffset', 2 ** 40], ['length', 2 ** 40], ['buffer', {}]]) {
      Object.defineProperty(lying, key, { value })
    }
    class Other extends Uint8Array { static get [Symbol.species]() { return Array } get length() { return {} } }
    const hash = (value) => attempt(() => crypto.createHash('md5').update(value).digest('hex').slice(0, 4))
    let reads = 0
    const flips = { get N() { return reads++ === 0 ? 1024 : {} } }
    const revoked = Proxy.revocable({}, {})
    revoked.revoke()
    return {
      plain: await hash('a'), lying: await hash(lying), other: await hash(new Other([97])),
      proxy: await hash(new Proxy(new Uint8Array(1), {})), number: await hash(1), array: await hash([97]),
      view: await hash(new DataView(new ArrayBuffer(0))), detached: await hash(structuredClone(lying).subarray(0)),
      flips: await attempt(() => crypto.scryptSync('x', 'y', 8, flips).length),
      revoked: await attempt(() => crypto.scryptSync('x', 'y', 8, revoked.proxy)),
      level: await attempt(() => zlib.gzipSync('x', { level: {} })),
      bits: await attempt(() => zlib.inflateRawSync('x', { windowBits: 63 })),
      params: await attempt(() => zlib.brotliCompressSync('x', { params: { x: 1 } })),
      chunk: await attempt(() => zlib.gzipSync('x', { chunkSize: NaN })),
      tag: await attempt(() => crypto.createCipheriv('aes-128-gcm', lying, lying, { authTagLength: 2 ** 33 })),
      fill: await attempt(() => crypto.randomFillSync(lying).constructor.name),
    }
  `, {
    plain: { got: '0cc1' }, lying: { got: '0cc1' }, other: { got: '0cc1' }, proxy: 'ERR_INVALID_ARG_TYPE',
    number: 'ERR_INVALID_ARG_TYPE', array: 'ERR_INVALID_ARG_TYPE', view: { got: 'd41d' }, detached: { got: '0cc1' },
    flips: { got: 8 }, revoked: 'TypeError', level: 'ERR_INVALID_ARG_TYPE', bits: 'ERR_OUT_OF_RANGE',
    params: 'ERR_INVALID_ARG_TYPE', chunk: 'ERR_INVALID_ARG_TYPE', tag: RANGE, fill: { got: 'Uint8Array' },
  }),
  realm!(405, 'changes classes of streams, which the channel to the host uses too', `
    const { default: stream } = await import('node:stream')
    const state = new stream.Readable()._readableState
    const written = new stream.Writable()._writableState
    const changes = [
      () => { stream.Readable.prototype.push = () => {} }, () => { stream.Writable.prototype.write = () => {} },
      () => { stream.Duplex.prototype.end = () => {} }, () => { stream.Stream.prototype.pipe = () => {} },
      () => { Object.getPrototypeOf(state).ended = true }, () => { state.constructor.prototype.x = 1 },
      () => { Object.defineProperty(written.constructor.prototype, 'corked', { get: () => 1 }) },
      () => { stream.Readable.from = null }, () => { stream.Transform.prototype._flush = null },
      () => { stream.setDefaultHighWaterMark(false, 0) }, () => { stream.promises.pipeline = null },
      () => { Object.setPrototypeOf(stream.Writable.prototype, null) },
    ]
    const outcomes = []
    for (const change of changes) outcomes.push(await attempt(() => { change(); return 'changed' }))
    return { outcomes, works: typeof (await runtime.fs.list('own')).length }
  `, { outcomes: Array.from({ length: 12 }, () => 'TypeError'), works: 'number' }),
  realm!(406, 'calls constructors of all exports, to reach other functions', `
    const names = ['crypto', 'zlib', 'stream', 'os', 'async_hooks', 'util', 'events', 'process', 'assert', 'timers']
    const found = []
    for (const name of names) {
      const { default: module } = await import('node:' + name)
      for (const [key, value] of Object.entries(module)) {
        const make = value?.constructor?.constructor ?? value?.constructor
        if (typeof make !== 'function') continue
        const reached = make('return typeof process === "undefined" ? "" : typeof process.binding + typeof require')
        const text = await attempt(() => reached())
        if (make !== Function || text.got !== 'undefinedundefined') found.push(name + '.' + key)
      }
    }
    return { found }
  `, { found: [] }),
  realm!(407, 'reads the context of another call, through node:async_hooks', `
    const { AsyncLocalStorage, AsyncResource } = await import('node:async_hooks')
    const { readFile } = await import('node:fs/promises')
    if (globalThis.kept === undefined) {
      const storage = new AsyncLocalStorage()
      storage.enterWith('first')
      const resource = new AsyncResource('x')
      globalThis.kept = { storage, inside: AsyncLocalStorage.snapshot(), resource }
      return { own: storage.getStore() }
    }
    const { storage, inside, resource } = globalThis.kept
    const read = () => attempt(() => readFile('own/note.txt', 'utf8'))
    return {
      store: storage.getStore() ?? null, snapshot: await inside(read), resource: await resource.runInAsyncScope(read),
      left: await AsyncLocalStorage.bind(() => typeof storage.getStore())(),
    }
  `, [
    ['call', returned({ own: 'first' })],
    ['call', returned({ store: null, snapshot: DENIED, resource: DENIED, left: 'undefined' })],
  ], { requires: { fs: { read: ['own/**'] } } }),
  exhaustion!(408, 'expands a few compressed bytes into very many', `
    const zlib = await import('node:zlib')
    const { Readable } = await import('node:stream')
    const { pipeline } = await import('node:stream/promises')
    const zeros = Buffer.alloc(65 * 1024 * 1024)
    const packed = async (codec) => Buffer.concat(await Array.fromAsync(Readable.from([zeros]).pipe(codec)))
    const gzip = await packed(zlib.createGzip())
    const bombs = {
      gunzip: gzip, inflate: await packed(zlib.createDeflate()), inflateRaw: await packed(zlib.createDeflateRaw()),
      unzip: gzip, brotliDecompress: await packed(zlib.createBrotliCompress({ params: { 1: 1 } })),
    }
    const outcome = { slow: await attempt(() => zlib.brotliCompressSync(zeros.subarray(0, 2 ** 21)).length) }
    for (const [name, bomb] of Object.entries(bombs)) {
      const create = zlib['create' + name[0].toUpperCase() + name.slice(1)]
      let read = 0
      outcome[name] = [
        await attempt(() => zlib[name + 'Sync'](bomb).length),
        await attempt(() => zlib[name + 'Sync'](bomb, { maxOutputLength: 2 ** 40 }).length),
        await attempt(() => new Promise((resolve, reject) =>
          zlib[name](bomb, (error, result) => error ? reject(error) : resolve(result.length)))),
        await attempt(() => pipeline(Readable.from([bomb]), create(), async function (pieces) {
          for await (const piece of pieces) read += piece.length
        })),
        read <= 64 * 1024 * 1024,
      ]
    }
    return outcome
  `, {
    slow: RANGE,
    ...Object.fromEntries(['gunzip', 'inflate', 'inflateRaw', 'unzip', 'brotliDecompress'].map((name) =>
      [name, [TOO_LARGE, TOO_LARGE, TOO_LARGE, TOO_LARGE, true]])),
  }),
  exhaustion!(409, 'starts work of node:crypto that cannot be interrupted', `
    const { default: crypto } = await import('node:crypto')
    const derive = (...given) => attempt(() => crypto.pbkdf2Sync('x', 'y', ...given).length)
    const scrypt = (options) => attempt(() => crypto.scryptSync('x', 'y', 8, options).length)
    const key = (kind, options) => attempt(() => typeof crypto.generateKeyPairSync(kind, options))
    const { subtle } = crypto
    const password = await subtle.importKey('raw', new Uint8Array(1), 'PBKDF2', false, ['deriveBits'])
    const algorithm = { name: 'PBKDF2', hash: 'SHA-512', salt: new Uint8Array(1), iterations: 2 ** 31 }
    return {
      usual: await derive(600_000, 32, 'sha256'), rounds: await derive(2 ** 31 - 1, 1, 'sha1'),
      length: await derive(1_000_000, 65_536, 'sha1'), bytes: await derive(1, 2 ** 30, 'sha1'),
      scrypt: await scrypt({ N: 2 ** 20, r: 8 }), parallel: await scrypt({ N: 2 ** 14, p: 1024 }),
      rsa: await key('rsa', { modulusLength: 16_384 }), dh: await key('dh', { primeLength: 8192 }),
      dsa: await key('dsa', { modulusLength: 8192 }), prime: await attempt(() => crypto.generatePrimeSync(8192)),
      random: await attempt(() => crypto.randomBytes(2 ** 31).length),
      subtle: await attempt(() => subtle.deriveBits(algorithm, password, 256)),
      web: await attempt(() => subtle.generateKey(
        { name: 'RSA-PSS', modulusLength: 16_384, publicExponent: new Uint8Array([1, 0, 1]), hash: 'SHA-256' }, true,
        ['sign'],
      )),
    }
  `, {
    usual: { got: 32 }, rounds: RANGE, length: RANGE, bytes: RANGE, scrypt: RANGE, parallel: RANGE, rsa: RANGE,
    dh: 'TypeError', dsa: 'TypeError', prime: ABSENT, random: RANGE, subtle: RANGE, web: RANGE,
  }),
  lifecycle!(410, 'registers listeners that survive their call', `
    const { default: http } = await import('node:http')
    const { EventEmitter } = await import('node:events')
    const { readFile } = await import('node:fs/promises')
    const base = 'http://localhost:' + facts.grantedPort
    const again = () => attempt(() => new Promise((resolve, reject) =>
      http.get(base, (response) => resolve(response.statusCode)).on('error', reject)))
    if (globalThis.late !== undefined) {
      process.emit('exit')
      return { late: await globalThis.late, heard: globalThis.heard ?? 0 }
    }
    for (const name of ['exit', 'beforeExit', 'uncaughtException', 'message']) {
      process.on(name, () => { globalThis.heard = name })
    }
    const request = http.get(base)
    const { statusCode } = await new Promise((resolve) => request.on('response', resolve))
    globalThis.late = new Promise((done) => setTimeout(async () =>
      done([await again(), await attempt(() => readFile('own/note.txt', 'utf8'))]), 200))
    return { first: statusCode, emitter: new EventEmitter().listenerCount('exit') }
  `, [['call', returned({ first: 200, emitter: 0 })], ['call', returned({ late: [DENIED, DENIED], heard: 0 })]], {
    requires: { fs: { read: ['own/**'] }, net: { hosts: ['localhost:$granted'] } },
  }),
]
