import { attacksOf } from '../model/case.ts'

/** Attacks with work of native code that takes long, and that no deadline can interrupt. */
const exhaustion = attacksOf('O', { alone: true, control: 'none' })

const RANGE = 'ERR_OUT_OF_RANGE'

/** Keys whose decryption takes 2^31 rounds of PBKDF2 and of PKCS 12, and 2^31 units of scrypt. */
const SLOW_KEYS = {
  pbkdf2: 'MH0wWQYJKoZIhvcNAQUNMEwwKwYJKoZIhvcNAQUMMB4ECAAAAAAAAAAAAgR/////MAwGCCqGSIb3DQIJBQAwHQYJYIZIAWUDBAECBBAA'
    + 'AAAAAAAAAAAAAAAAAAAABCAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA==',
  pkcs12: 'MEIwHgYKKoZIhvcNAQwBAzAQBAgAAAAAAAAAAAIEf////wQgAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=',
  scrypt: 'MHYwUgYJKoZIhvcNAQUNMEUwJAYJKwYBBAHaRwQLMBcECAAAAAAAAAAAAgMBAAACAQECAwCAADAdBglghkgBZQMEAQIEEAAAAAAAAAAA'
    + 'AAAAAAAAAAAEIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA',
}

export const nativeWork = [
  exhaustion(411, 'decrypts keys that ask for very many rounds', `
    const { default: crypto } = await import('node:crypto')
    const keys = ${JSON.stringify(SLOW_KEYS)}
    const passphrase = 'x'
    const text = (label, key) => '-----BEGIN ' + label + '-----\\n' + key + '\\n-----END ' + label + '-----\\n'
    const read = (name, key, options) => attempt(() => typeof crypto[name]({ key, passphrase, ...options }))
    const outcome = {}
    for (const [name, key] of Object.entries(keys)) {
      const bytes = Buffer.from(key, 'base64')
      const [pem, other] = ['ENCRYPTED PRIVATE KEY', 'PRIVATE KEY'].map((label) => text(label, key))
      const der = { format: 'der', type: 'pkcs8' }
      outcome[name] = [
        await read('createPrivateKey', bytes, der), await read('createPrivateKey', pem),
        await read('createPrivateKey', Buffer.from(other)), await read('createPublicKey', pem),
        await attempt(() => crypto.sign('sha256', 'x', { key: text('CERTIFICATE', 'eA==') + pem, passphrase })),
      ]
    }
    return outcome
  `, Object.fromEntries(Object.keys(SLOW_KEYS).map((name) => [name, Array.from({ length: 5 }, () => RANGE)])), {
    deadlineMs: 20_000,
  }),
  exhaustion(412, 'passes parameters to node:zlib that start threads, take memory or take long', `
    const { default: zlib } = await import('node:zlib')
    const brotli = (params) => attempt(() => zlib.brotliCompressSync('x', { params }).length)
    const zstd = (params) => attempt(() => typeof zlib.createZstdCompress({ params }))
    return {
      usual: [await brotli({ 1: 4, 2: 22, 5: 1 }), await zstd({ 100: 3, 201: 1 })],
      window: await brotli({ 6: true, 2: 24 }), block: await brotli({ 3: 24 }),
      threads: await zstd({ 400: 200 }), memory: [await zstd({ 101: 31 }), await zstd({ 102: 30 })],
      search: await zstd({ 104: 30 }), data: await attempt(() => zlib.gzipSync(new Uint8Array(2 ** 26)).length),
    }
  `, {
    usual: [{ got: 5 }, { got: 'object' }], window: RANGE, block: RANGE, threads: RANGE, memory: [RANGE, RANGE],
    search: RANGE, data: RANGE,
  }),
  exhaustion(413, 'keeps the thread pool of the host busy with streams of node:zlib', `
    const { default: zlib } = await import('node:zlib')
    const words = Array.from({ length: 999 }, (_, at) => (at * 2654435761 % 2 ** 32).toString(36))
    const text = Array.from({ length: 300_000 }, (_, at) => words[(at * at + 7 * at) % 997]).join(' ')
    const streams = Array.from({ length: 12 }, () => zlib.createBrotliCompress({ chunkSize: 2 ** 20 }))
    const written = streams.map((stream) => new Promise((done) => stream.on('data', () => {}).write(text, done)))
    const files = runtime.fs.list('own').then(() => 'files')
    const first = await Promise.race([files, ...written])
    for (const stream of streams) stream.destroy()
    return { first }
  `, { first: 'files' }),
]
