import { attacksOf, refused, returned } from '../model/case.ts'
import type { Attack } from '../model/case.ts'

/** A thread cannot be terminated during these operations. A process can. */
const PROCESS_ONLY = ['process'] as const
const attack = attacksOf('O', { alone: true, deadlineMs: 200, control: 'none' })

/** Denied at once, which may take longer than a short deadline on a busy machine. */
const AT_ONCE = { deadlineMs: 120_000 }
/** Cancelled at the deadline, then killed because it did not stop. */
const OVERDUE: Attack['script'] = [['call', refused('ExecutionTimeout')], ['ended', refused('CompartmentKilled')]]
const patienceMs = 3_500
const NATIVE = { placements: PROCESS_ONLY, patienceMs, limits: { heapMb: 768, memoryMb: 2_500 } }

/** `(func (export "run") (loop (br 0)))` */
const WASM_LOOP = '0,97,115,109,1,0,0,0,1,4,1,96,0,0,3,2,1,0,7,7,1,3,114,117,110,0,0,10,9,1,7,0,3,64,12,0,11,11'
/**
 * `(memory 1 1 shared) (func (export "run") (drop (memory.atomic.wait32 (i32.const 0) (i32.const 0) (i64.const -1))))`
 */
const WASM_WAIT = '0,97,115,109,1,0,0,0,1,4,1,96,0,0,3,2,1,0,5,4,1,3,1,1,7,7,1,3,114,117,110,0,0,'
  + '10,15,1,13,0,65,0,65,0,66,127,254,1,2,0,26,11'
const wasm = (bytes: string): string =>
  `new WebAssembly.Instance(new WebAssembly.Module(new Uint8Array([${bytes}]))).exports.run()`

export const exhaustion = [
  attack(197, 'runs an infinite loop', 'for (;;);', OVERDUE),
  attack(198, 'runs an endless chain of microtasks', 'for (;;) await null', OVERDUE),
  attack(199, 'waits forever with an atomic wait in WebAssembly',
    `if (typeof Atomics !== 'undefined') return { got: 'Atomics' }\n${wasm(WASM_WAIT)}`, OVERDUE),
  attack(200, 'runs a regular expression that backtracks', "/^(a+)+$/.test('a'.repeat(40) + 'b')", OVERDUE),
  attack(201, 'runs an infinite loop in WebAssembly', wasm(WASM_LOOP), OVERDUE),
  attack(202, 'derives a key with two billion iterations', `
    return { derive: await attempt(async () =>
      (await reach('crypto')).pbkdf2Sync('x', 'y', 2 ** 31 - 1, 64, 'sha512')) }
  `, { derive: 'ERR_OUT_OF_RANGE' }, AT_ONCE),
  attack(203, 'runs an SQL query that never ends', `
    const query = 'WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c'
    return { query: await attempt(async () => new (await reach('sqlite')).DatabaseSync(':memory:').exec(query)) }
  `, { query: 'BuiltinDenied' }, AT_ONCE),
  attack(204, 'compares long strings by locale',
    "const text = '\\u0430'.repeat(1e7); for (;;) text.localeCompare(text + 'b')", OVERDUE, { limits: NATIVE.limits }),
  attack(205, 'sorts a large array', '', OVERDUE, {
    ...NATIVE,
    // Created during the import, so that the deadline falls into the sort.
    files: {
      'index.js': `
        const all = []
        for (let seed = 1; all.length < 6e6;) all.push(seed = seed * 16807 % 2147483647)
        export default { tools: { run: { execute: () => all.sort().length } } }
      `,
    },
  }),
  // It grows and cannot be terminated. Which effect appears first depends on the speed of the machine.
  attack(206, 'parses a large JSON string', "return JSON.parse('[' + '[],'.repeat(2e7) + '0]').length", OVERDUE,
    { ...NATIVE, fates: ['swollen', 'stuck', 'blocked'] }),
  attack(
    207, 'replaces a regular expression in a large string', "return 'a'.repeat(2 ** 28).replace(/a/g, 'b').length",
    OVERDUE, { limits: NATIVE.limits },
  ),
  attack(
    304, 'replaces a character in a large string', "return 'a'.repeat(2 ** 27).replaceAll('a', 'bc').length", OVERDUE,
    NATIVE,
  ),
  attack(
    289, 'normalizes the Unicode of a long string',
    "return ('a' + '\\u0315\\u0300'.repeat(1e6)).normalize('NFC').length", OVERDUE, NATIVE,
  ),
  attack(290, 'uses the processor in short pieces, so that the event loop still turns', `
    const spin = () => { const until = performance.now() + 20; while (performance.now() < until); setImmediate(spin) }
    for (let at = 0; at < 4; at++) spin()
    await new Promise(() => {})
  `, OVERDUE),
  attack(291, 'starts an unlimited number of timers',
    'for (let at = 0; at < 200_000; at++) setInterval(() => {}, 1); await new Promise(() => {})', OVERDUE, {
    limits: { heapMb: 256, memoryMb: 512 },
  }),

  attack(219, 'uses up the thread pool with key derivations', `
    const derive = (module) => Promise.all(Array.from({ length: 64 },
      () => new Promise((done, fail) =>
        module.pbkdf2('x', 'y', 1e7, 64, 'sha512', (error) => error ? fail(error) : done()))))
    return { crypto: await attempt(async () => derive(await reach('crypto'))),
      scrypt: await attempt(async () => (await reach('crypto')).scryptSync('x', 'y', 64, { N: 2 ** 22 })) }
  `, { crypto: 'ERR_OUT_OF_RANGE', scrypt: 'ERR_OUT_OF_RANGE' }, AT_ONCE),
  attack(220, 'uses up the thread pool with Web Crypto and compression', `
    const subtle = (api) => Promise.all(Array.from({ length: 64 },
      () => api.generateKey({ name: 'RSA-OAEP', modulusLength: 8192, publicExponent: new Uint8Array([1, 0, 1]),
      hash: 'SHA-512' }, true, ['encrypt'])))
    return {
      subtle: await attempt(() => subtle(use(crypto, 'subtle'))),
      zlib: await attempt(async () => {
        const { gzipSync, gunzipSync } = await reach('zlib')
        return gunzipSync(gzipSync(Buffer.alloc(65 * 1024 * 1024))).length
      }),
      stream: await attempt(() => new (use(globalThis, 'CompressionStream'))('gzip')),
    }
  `, { subtle: 'ERR_OUT_OF_RANGE', zlib: 'ERR_BUFFER_TOO_LARGE', stream: 'absent' }, AT_ONCE),

  attack(221, 'sends a flood of small messages', `
    const message = { type: 'APPLY', path: ['progress'], argumentList: [wire.raw(wire.callId), wire.raw('x')] }
    for (let at = 0; at < 5_000; at++) wire.ask(message)
  `, [
    ['call', refused('MessageFlood')], ['ended', refused('MessageFlood')],
  ], { in: 'wire', limits: { messagesPerSecond: 500 }, deadlineMs: 120_000, control: 'none' }),
  attack(305, 'prepares a flood of small messages that are never sent',
    "for (;;) { runtime.progress('x'); await null }", [
    ['call', refused('CompartmentOutOfHeap')], ['ended', refused('CompartmentOutOfHeap')],
  ], { deadlineMs: 120_000 }),
  // The host grows, or has no time to end it. Which effect appears first depends on the speed of the machine.
  attack(222, 'sends a flood of large messages', `
    const text = 'x'.repeat(4_000_000)
    for (;;) {
      runtime.progress(text)
      await new Promise((later) => setImmediate(later))
    }
  `, [
    ['call', refused('CompartmentOutOfMemory')], ['ended', refused('CompartmentOutOfMemory')],
  ], { deadlineMs: 120_000, placements: PROCESS_ONLY, fates: ['swollen', 'stuck', 'blocked'] }),
  attack(223, 'sends a flood of log lines',
    "for (let at = 0; at < 10_000; at++) console.log('line ' + at); runtime.log.error('x'.repeat(1e6)); return 'done'",
    [
    ['call', returned('done')],
  ], { limits: { logBytes: 10_000 }, deadlineMs: 120_000 }),
  attack(224, 'sends a flood of warnings', `
    const { EventEmitter } = await import('node:events')
    const { deprecate } = await import('node:util')
    for (let at = 0; at < 20_000; at++) process.emitWarning('warning ' + at)
    for (let at = 0; at < 2_000; at++) deprecate(() => {}, 'deprecated ' + at, 'DEP' + at)()
    const emitter = new EventEmitter()
    for (let at = 0; at < 100; at++) emitter.on('x', () => {})
    return 'done'
  `, [['call', returned('done')]], { deadlineMs: 120_000 }),
  attack(327, 'runs an infinite loop in a finalizer', `
    const registry = new FinalizationRegistry(() => { for (;;); })
    for (let at = 0; at < 100; at++) registry.register({}, at)
    for (;;) {
      for (let at = 0; at < 1e4; at++) new Array(100).fill(at)
      await new Promise((later) => setTimeout(later))
    }
  `, OVERDUE, { deadlineMs: 1_500 }),
  attack(
    328, 'returns a result with an infinite loop in a proxy trap',
    'return new Proxy({}, { ownKeys() { for (;;); } })', OVERDUE,
  ),
  attack(329, 'throws an error with an infinite loop in an accessor', 'throw { get message() { for (;;); } }', OVERDUE),
  attack(330, 'passes a proxy with an infinite loop in a trap to a capability',
    'await runtime.fs.readText(new Proxy({}, { ownKeys() { for (;;); } }))', OVERDUE),
]
