import nodeCrypto, { webcrypto } from 'node:crypto'
import zlib from 'node:zlib'
import type { CompartmentSession } from '@bulkhead/contract'
import type { Json, JsonObject } from '@bulkhead/kit/json'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { thoroughly } from '../../../scripts/thoroughly.ts'
import { createSandbox } from '../src/index.ts'
import { namedShims } from '../src/session/named-shims.ts'
import { SHIM_MODULES } from '../src/wire/shim-table.ts'
import { ALLOWED_BUILTINS } from '../src/worker/allow-list.ts'
import { invocation, refusal, requestOf, REMOTE, running } from './fixture.ts'

/** Those that need no capability. */
const ALWAYS = [
  ...ALLOWED_BUILTINS.keys(), ...[...SHIM_MODULES].filter(([, needs]) => needs.length === 0).map(([name]) => name),
]
const SOURCE = `
  const names = ${JSON.stringify(ALWAYS)}
  const AsyncFunction = (async () => {}).constructor
  export default { tools: { run: { async execute({ code, ...args }) {
    const modules = {}
    for (const name of names) modules[name] = await import('node:' + name)
    return new AsyncFunction('modules', 'args', code)(modules, args)
  } } } }
`

describe.each(REMOTE.slice(0, thoroughly(1, 2)))('modules of Node in a %s', (placement) => {
  const sandbox = createSandbox({ workspace: '/', spares: { process: 0, thread: 0 } })
  let session: CompartmentSession
  beforeAll(async () => {
    session = await sandbox.open(requestOf({ placement, source: SOURCE }))
  })
  afterAll(() => sandbox.close())
  const call = (code: string, args: JsonObject = {}): Promise<Json> => session.call(invocation({ code, ...args }))

  it('exist with and without the scheme', async () => {
    expect(ALWAYS).toEqual(expect.arrayContaining([
      'assert', 'assert/strict', 'async_hooks', 'buffer', 'crypto', 'events', 'os', 'path', 'path/posix', 'process',
      'querystring', 'stream', 'stream/promises', 'stream/web', 'string_decoder', 'timers/promises', 'url', 'util',
      'util/types', 'zlib',
    ]))
    expect(await call(`
      const outcomes = await Promise.all(Object.keys(modules).map(async (name) =>
        [name, (await import(name)).default === (await import('node:' + name)).default]))
      return outcomes.filter(([, same]) => !same)
    `)).toEqual([])
  })

  it('hash, encrypt and derive as Node does', async () => {
    const [key, iv] = [Buffer.alloc(32, 7), Buffer.alloc(12, 9)]
    const cipher = nodeCrypto.createCipheriv('aes-256-gcm', key, iv).setAAD(Buffer.from('aad'))
    const sealed = Buffer.concat([cipher.update('secret'), cipher.final()]).toString('hex')
    expect(await call(`
      const { createHash, createHmac, createCipheriv, createDecipheriv, ...crypto } = modules.crypto
      const hash = createHash('sha256').update('a')
      const copy = hash.copy().update('c').digest('hex')
      const streamed = await modules['stream/consumers'].buffer(
        modules.stream.Readable.from([Buffer.from('ab')]).pipe(createHash('sha1')))
      const [key, iv] = [Buffer.alloc(32, 7), Buffer.alloc(12, 9)]
      const cipher = createCipheriv('aes-256-gcm', key, iv).setAAD(Buffer.from('aad'))
      const sealed = cipher.update('secret', 'utf8', 'hex') + cipher.final('hex')
      const open = (tag) => {
        const opened = createDecipheriv('aes-256-gcm', key, iv).setAAD(Buffer.from('aad')).setAuthTag(tag)
        return opened.update(sealed, 'hex', 'utf8') + opened.final('utf8')
      }
      const wrong = () => { try { return open(Buffer.alloc(16)) } catch (error) { return error.message } }
      return {
        hashes: [hash.update('b').digest('hex'), copy, streamed.toString('hex'), crypto.hash('md5', 'a')],
        hmac: createHmac('sha512', 'k').update('a').update('b').digest('base64'),
        sealed, tag: cipher.getAuthTag().toString('hex'), opened: open(cipher.getAuthTag()), wrong: wrong(),
        derived: [
          crypto.pbkdf2Sync('p', 's', 1000, 20, 'sha256').toString('hex'),
          crypto.scryptSync('p', 's', 16).toString('hex'),
          Buffer.from(crypto.hkdfSync('sha256', 'k', 's', 'i', 16)).toString('hex'),
          await new Promise((done) =>
            crypto.pbkdf2('p', 's', 1000, 20, 'sha256', (_, bytes) => done(bytes.toString('hex')))),
        ],
        equal: ['a', 'b'].map((text) => crypto.timingSafeEqual(Buffer.from('a'), Buffer.from(text))),
        random: [crypto.randomBytes(9).length, crypto.randomInt(5, 6), crypto.randomUUID().length],
      }
    `)).toEqual({
      hashes: [
        nodeCrypto.hash('sha256', 'ab'), nodeCrypto.hash('sha256', 'ac'), nodeCrypto.hash('sha1', 'ab'),
        nodeCrypto.hash('md5', 'a'),
      ],
      hmac: nodeCrypto.createHmac('sha512', 'k').update('ab').digest('base64'),
      sealed, tag: cipher.getAuthTag().toString('hex'), opened: 'secret',
      wrong: expect.stringContaining('unable to authenticate') as string,
      derived: [
        nodeCrypto.pbkdf2Sync('p', 's', 1000, 20, 'sha256').toString('hex'),
        nodeCrypto.scryptSync('p', 's', 16).toString('hex'),
        Buffer.from(nodeCrypto.hkdfSync('sha256', 'k', 's', 'i', 16)).toString('hex'),
        nodeCrypto.pbkdf2Sync('p', 's', 1000, 20, 'sha256').toString('hex'),
      ],
      equal: [true, false], random: [9, 5, 36],
    })
  })

  it('sign so that Node verifies it, with keys in each form', async () => {
    const kinds = ['rsa', 'ec', 'ed25519'] as const
    const signed = await call(`
      const { generateKeyPairSync, createPrivateKey, createPublicKey, createSign, sign, verify } = modules.crypto
      return args.kinds.map((kind) => {
        const { publicKey, privateKey } = generateKeyPairSync(kind, { modulusLength: 2048, namedCurve: 'P-256' })
        const pem = createPrivateKey(privateKey.export({ type: 'pkcs8', format: 'pem' }))
        const forms = [['pem', 'pkcs8'], ['der', 'pkcs8'], ...kind === 'rsa' ? [['pem', 'pkcs1']] : []]
        const locked = forms.map(([format, type]) => {
          const key = privateKey.export({ format, type, cipher: 'aes-256-cbc', passphrase: 'open' })
          return createPrivateKey({ key, format, type, passphrase: 'open' }).equals(privateKey)
        })
        const hash = kind === 'ed25519' ? null : 'sha256'
        const signature = sign(hash, Buffer.from('text'), pem)
        const streamed = hash && createSign('RSA-SHA256').update('te').update('xt').sign(privateKey, 'base64')
        const again = createPublicKey({ key: publicKey.export({ format: 'jwk' }), format: 'jwk' })
        return {
          key: publicKey.export({ type: 'spki', format: 'pem' }), signature: signature.toString('base64'), streamed,
          verified: [
            ...['text', 'x'].map((text) => verify(hash, Buffer.from(text), again, signature)), ...new Set(locked)],
        }
      })
    `, { kinds: [...kinds] }) as { key: string; signature: string; streamed: string | null; verified: boolean[] }[]
    for (const [at, { key, signature, streamed, verified }] of signed.entries()) {
      const hash = kinds[at] === 'ed25519' ? null : 'sha256'
      const isValid = (text: string): boolean =>
        nodeCrypto.verify(hash, Buffer.from('text'), key, Buffer.from(text, 'base64'))
      expect([verified, isValid(signature), streamed === null || isValid(streamed)], kinds[at])
        .toEqual([[true, false, true], true, true])
    }
  })

  it('take no keys whose use could not be interrupted', async () => {
    const { privateKey } = nodeCrypto.generateKeyPairSync('dh' as never, { group: 'modp14' } as never)
    const pem = (privateKey as nodeCrypto.KeyObject).export({ type: 'pkcs8', format: 'pem' })
    expect(await call(`
      const { createPrivateKey, sign } = modules.crypto
      const tried = [createPrivateKey, (key) => sign('sha1', 'x', key), (key) => sign('sha1', 'x', { key })]
      return tried.map((work) => { try { work(args.pem) } catch (error) { return error.message } })
    `, { pem })).toEqual(Array.from({ length: 3 }, () => 'A compartment has no keys of type dh.'))
  })

  it('offer crypto.subtle, which agrees with that of Node', async () => {
    const answer = await call(`
      const bytes = Buffer.from('text')
      const api = crypto.subtle
      const outcome = { digest: Buffer.from(await api.digest('SHA-256', bytes)).toString('hex') }
      for (const name of Object.keys(args.algorithms)) {
        const { generate, use } = args.algorithms[name]
        const exponent = generate.modulusLength && { publicExponent: new Uint8Array([1, 0, 1]) }
        const { publicKey, privateKey } = await api.generateKey({ ...generate, ...exponent }, true, ['sign', 'verify'])
        const signature = await api.sign(use, privateKey, bytes)
        outcome[name] = [
          await api.exportKey('jwk', publicKey), Buffer.from(signature).toString('base64'),
          await api.verify(use, publicKey, signature, bytes), privateKey.usages, publicKey.type,
        ]
      }
      const aes = await api.importKey('raw', Buffer.alloc(32, 1), 'AES-GCM', false, ['encrypt', 'decrypt'])
      const gcm = { name: 'AES-GCM', iv: Buffer.alloc(12, 2), additionalData: Buffer.from('aad') }
      const sealed = await api.encrypt(gcm, aes, bytes)
      const failed = (work) => work.then(() => 'worked', (error) => error.name)
      const mac = await api.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, true, ['sign'])
      const password = await api.importKey('raw', bytes, 'PBKDF2', false, ['deriveBits', 'deriveKey'])
      const pbkdf2 = { name: 'PBKDF2', hash: 'SHA-256', salt: bytes, iterations: 1000 }
      return {
        ...outcome, sealed: Buffer.from(sealed).toString('base64'),
        opened: Buffer.from(await api.decrypt(gcm, aes, sealed)).toString(),
        changed: await failed(api.decrypt({ ...gcm, iv: Buffer.alloc(12) }, aes, sealed)),
        kept: await failed(api.exportKey('raw', aes)), unusable: await failed(api.verify('HMAC', mac, bytes, bytes)),
        mac: Buffer.from(await api.sign('HMAC', mac, bytes)).toString('hex'),
        bits: Buffer.from(await api.deriveBits(pbkdf2, password, 128)).toString('hex'),
        key: (await api.deriveKey(pbkdf2, password, { name: 'AES-GCM', length: 256 }, false, ['encrypt']))
          .algorithm.length,
        unknown: await failed(api.digest('MD5', bytes)),
      }
    `, { algorithms: ALGORITHMS as unknown as JsonObject }) as Record<string, Json>
    const bytes = Buffer.from('text')
    for (const [name, { generate, use }] of Object.entries(ALGORITHMS)) {
      const [jwk, signature, verified, usages, type] = answer[name] as [never, string, boolean, string[], string]
      const key = await webcrypto.subtle.importKey('jwk', jwk, generate as never, true, ['verify'])
      const isValid = await webcrypto.subtle.verify(use as never, key, Buffer.from(signature, 'base64'), bytes)
      expect([isValid, verified, usages, type], name).toEqual([true, true, ['sign'], 'public'])
    }
    const aes = await webcrypto.subtle.importKey('raw', Buffer.alloc(32, 1), 'AES-GCM', false, ['encrypt'])
    const gcm = { name: 'AES-GCM', iv: Buffer.alloc(12, 2), additionalData: Buffer.from('aad') }
    expect(answer).toMatchObject({
      digest: nodeCrypto.hash('sha256', 'text'), opened: 'text', changed: 'OperationError', kept: 'InvalidAccessError',
      unusable: 'InvalidAccessError', unknown: 'NotSupportedError', key: 256,
      sealed: Buffer.from(await webcrypto.subtle.encrypt(gcm, aes, bytes)).toString('base64'),
      mac: nodeCrypto.createHmac('sha256', 'text').update('text').digest('hex'),
      bits: nodeCrypto.pbkdf2Sync('text', 'text', 1000, 16, 'sha256').toString('hex'),
    })
  })

  it('compress as Node does, at once and as a stream, up to a limit that the error names', async () => {
    const text = 'bird '.repeat(50_000)
    expect(await call(`
      const { gunzipSync, gunzip, createGunzip, createGzip, constants, ...zlib } = modules.zlib
      const { pipeline } = modules['stream/promises']
      const { Readable } = modules.stream
      const packed = Buffer.from(args.gzip, 'base64')
      const streamed = Readable.from([args.text]).pipe(createGzip({ level: 9 })).pipe(createGunzip())
      const again = await Array.fromAsync(streamed)
      const failed = (work) => work().then(() => 'worked', (error) => [error.code, error.message.split('.')[0]])
      return [
        gunzipSync(packed).toString() === args.text, Buffer.concat(again).toString() === args.text,
        await new Promise((done) => gunzip(packed, (_, bytes) => done(bytes.length))),
        zlib.brotliDecompressSync(Buffer.from(args.brotli, 'base64')).length,
        zlib.inflateSync(Buffer.from(args.deflate, 'base64')).length, zlib.crc32('bird'), constants.Z_BEST_COMPRESSION,
        await failed(async () => gunzipSync(packed, { maxOutputLength: 1000 })),
        await failed(() => pipeline(Readable.from([packed]), createGunzip({ maxOutputLength: 1000 }),
          (pieces) => Array.fromAsync(pieces))),
        await failed(async () => gunzipSync('not gzip')),
        (await Array.fromAsync(Readable.from([packed, Buffer.alloc(200_000)]).pipe(createGunzip()))).length > 0,
        await failed(async () =>
          zlib.zstdDecompressSync(Buffer.from(args.bomb, 'base64'), { maxOutputLength: 2 ** 40 })),
        await failed(async () => zlib.brotliCompressSync(Buffer.alloc(1024 * 1024 + 1))),
        await failed(async () => zlib.zstdCompressSync('x', { params: { 400: 1 } })),
      ]
    `, {
      bomb: zlib.zstdCompressSync(Buffer.alloc(64 * 1024 * 1024 + 1)).toString('base64'),
      text, gzip: zlib.gzipSync(text).toString('base64'), brotli: zlib.brotliCompressSync(text).toString('base64'),
      deflate: zlib.deflateSync(text).toString('base64'),
    })).toEqual([
      true, true, text.length, text.length, text.length, zlib.crc32('bird'), 9,
      ['ERR_BUFFER_TOO_LARGE', 'The output of zlib is larger than 1000 bytes'],
      ['ERR_BUFFER_TOO_LARGE', 'The output of zlib is larger than 1000 bytes'],
      ['Z_DATA_ERROR', 'incorrect header check'], true,
      ['ERR_BUFFER_TOO_LARGE', 'The output of zlib is larger than 67108864 bytes'],
      ['ERR_OUT_OF_RANGE', 'The length of the data is 1048577'], ['ERR_OUT_OF_RANGE', 'The parameter 400 is 1'],
    ])
  })

  it('connect streams of both kinds, and keep contexts apart', async () => {
    expect(await call(`
      const { Readable, Transform, Writable, finished } = modules.stream
      const { pipeline } = modules['stream/promises']
      function Upper() { Transform.call(this) }
      modules.util.inherits(Upper, Transform)
      Upper.prototype._transform = function (chunk, _, done) { done(null, String(chunk).toUpperCase()) }
      const seen = []
      const write = (chunk, _, done) => { seen.push(String(chunk)); done() }
      await pipeline(Readable.from(['a', 'b']), new Upper(), new Writable({ write }))
      const start = (to) => { to.enqueue(Buffer.from('w')); to.close() }
      const web = new modules['stream/web'].ReadableStream({ start })
      const storage = new modules.async_hooks.AsyncLocalStorage()
      const inside = await storage.run(7, async () => {
        await null
        return [storage.getStore(), storage.exit(() => storage.getStore())]
      })
      const channel = modules.diagnostics_channel.channel('x')
      channel.subscribe((message) => seen.push(message))
      channel.publish('told')
      return [
        seen, await modules['stream/consumers'].text(Readable.fromWeb(web)),
        Buffer.concat(await Array.fromAsync(Readable.toWeb(Readable.from([Buffer.from('n')])))).toString(),
        inside, storage.getStore() ?? null, modules.os.hostname(), modules.tty.isatty(1),
        typeof modules.util.debuglog('x'),
        modules.process.default === process, process.on('exit', () => {}) === process, process.listenerCount('exit'),
      ]
    `)).toEqual([
      ['A', 'B', 'told'], 'w', 'n', [7, null], null, 'compartment', false, 'function', true, true, 0,
    ])
  })

  it('are not made for code that does not name them', async () => {
    const named = (text: string): readonly string[] => namedShims([['index.js', Buffer.from(text)]])
    const texts = ["import a from 'node:crypto'", 'import"zlib"', 'crypto.subtle.digest', 'const os = 1']
    expect(texts.map(named)).toEqual([['crypto'], ['zlib'], ['crypto'], []])
    const source = running("return import('node:' + ['cry', 'pto'].join(''))")
    const other = await sandbox.open(requestOf({ placement, source }))
    expect(await refusal(other.call(invocation()))).toMatchObject({
      code: 'BuiltinDenied',
      message: expect.stringContaining('node:crypto exists for code that names it. Import it by its name') as string,
    })
  })
})

/** Keys of RSA take long to make. */
const ALGORITHMS = {
  ECDSA: { generate: { name: 'ECDSA', namedCurve: 'P-256' }, use: { name: 'ECDSA', hash: 'SHA-256' } },
  Ed25519: { generate: { name: 'Ed25519' }, use: { name: 'Ed25519' } },
  'RSASSA-PKCS1-v1_5': {
    generate: { name: 'RSASSA-PKCS1-v1_5', modulusLength: 2048, hash: 'SHA-256' }, use: { name: 'RSASSA-PKCS1-v1_5' },
  },
  ...thoroughly({}, {
    'RSA-PSS': {
      generate: { name: 'RSA-PSS', modulusLength: 2048, hash: 'SHA-256' }, use: { name: 'RSA-PSS', saltLength: 32 },
    },
  }),
}
