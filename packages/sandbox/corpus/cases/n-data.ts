import { attacksOf, refused, returned } from '../model/case.ts'
import type { Attack } from '../model/case.ts'

const attack = attacksOf('N')

const MALFORMED: Attack['script'] = [['call', refused('OutputMalformed')]]
const TOO_LARGE: Attack['script'] = [['call', refused('OutputTooLarge')]]

export const data = [
  attack(
    181, 'sends a key __proto__', `return JSON.parse('{"__proto__":{"polluted":1},"a":{"__proto__":{"polluted":2}}}')`,
    MALFORMED,
  ),
  attack(182, 'sends keys named like methods of Object.prototype', `
    return { hasOwnProperty: 1, toString: 'x', valueOf: null, constructor: { prototype: { polluted: 1 } }, then: 'x',
      toJSON: 'x', length: -1 }
  `, [['call', returned({
    hasOwnProperty: 1, toString: 'x', valueOf: null, constructor: { prototype: { polluted: 1 } }, then: 'x',
    toJSON: 'x',
    length: -1,
  })]]),
  attack(183, 'sends a graph of shared objects that grows exponentially as JSON', `
    let node = { leaf: 1 }
    for (let depth = 0; depth < 26; depth++) node = { left: node, right: node }
    return node
  `, TOO_LARGE),
  attack(184, 'sends a sparse array', 'const holes = []; holes[60_000_000] = 1; return holes', TOO_LARGE),
  attack(185, 'sends a circular value', 'const value = { a: [] }; value.a.push({ value }); return value', MALFORMED),
  attack(186, 'sends a value with unlimited nesting',
    'let value = 1; for (let depth = 0; depth < 100_000; depth++) value = [value]; return value', TOO_LARGE),
  attack(187, 'sends shared memory that changes after the check', `
    const { buffer } = new WebAssembly.Memory({ initial: 1, maximum: 1, shared: true })
    runtime.update({ shared: new Uint8Array(buffer) })
    return { global: typeof SharedArrayBuffer, shared: new Uint8Array(buffer) }
  `, MALFORMED),
  attack(188, 'sends ports and other objects that are not data', `
    const { port1 } = new (globalThis.MessageChannel ?? class { port1 = () => 'a function' })()
    return { port: port1 }
  `, MALFORMED, { control: 'none' }),
  attack(189, 'sends values that are not JSON', `
    const values = [1n, new Map(), new Set(), /x/, new Uint8Array(1), Symbol('x'), () => {}, NaN, Infinity,
      new Error('x'),
      new (class Money {})(), Promise.resolve(1), new WeakMap()]
    const outcomes = []
    // As the argument of a capability, which has the same limits.
    for (const value of values) outcomes.push(await attempt(() => runtime.fs.readText({ value })))
    return { refused: outcomes.filter((outcome) => outcome === 'InputInvalid').length, of: values.length,
      date: await attempt(() => runtime.fs.readText(new Date(NaN))) }
  `, { refused: 13, of: 13, date: 'InputInvalid' }, { control: 'none' }),
  attack(190, 'sends a string of half a gigabyte', "return 'x'.repeat(2 ** 29 - 24)", TOO_LARGE, {
    alone: true, control: 'none', limits: { heapMb: 64, memoryMb: 1_400 },
  }),
  attack(191, 'sends an unpaired surrogate', "return { text: 'a\\ud800b', ['\\udc00']: 1 }",
    [['call', returned({ text: 'a\ufffdb', '\ufffd': 1 })]], { control: 'none' }),
  attack(192, 'sends terminal control sequences', `
    const text = '\\u001b[2J\\u001b]0;forged\\u0007\\u202eevil\\u2066\\u009b31m'
    runtime.progress(text)
    console.log(text)
    return { text }
  `, [['call', returned({ text: '\u001b[2J\u001b]0;forged\u0007\u202eevil\u2066\u009b31m' })]], { control: 'none' }),
  attack(196, 'returns a thenable that resolves several times', `
    return {
      then(resolve, reject) {
        resolve({ then(again) { again('first'); again('second') } })
        reject(new Error('x'))
        resolve('third')
      },
    }
  `, [['call', returned('first')]], { control: 'none' }),
  attack(285, 'returns a thenable that never resolves', 'return { then() {} }', [
    ['call', refused('ExecutionTimeout')], ['ended', refused('CompartmentKilled')],
  ], { alone: true, deadlineMs: 300, control: 'none' }),
  attack(286, 'sends a value that changes between reads', `
    let reads = 0
    return {
      get flips() { return reads++ === 0 ? 'first' : () => 'second' },
      written: { toJSON() { return { toJSON() { return { plain: true } } } } },
      proxy: new Proxy({ a: 1 }, { ownKeys: () => ['a', '__proto__x'],
        getOwnPropertyDescriptor: () => ({ enumerable: true, configurable: true }), get: (_, key) => key === 'toJSON'
        ? undefined : 'trapped' }),
    }
  `, { flips: 'first', written: { plain: true }, proxy: { a: 'trapped', __proto__x: 'trapped' } }, { control: 'none' }),
  attack(287, 'sends strings and updates longer than a message may be', `
    runtime.progress('x'.repeat(20_000_000))
    runtime.update({ text: 'x'.repeat(20_000_000) })
    runtime.log.info('x'.repeat(20_000_000))
    return { write: await attempt(() => runtime.fs.write('own/out/large', 'x'.repeat(20_000_000))), fine: 'still here' }
  `, { write: 'InputInvalid', fine: 'still here' }, {
    alone: true, limits: { heapMb: 256, memoryMb: 700 }, control: 'none',
  }),
  attack(288, 'returns the largest allowed result, again and again', `
    return Array.from({ length: 4 }, () => Array.from({ length: 40_000 }, (_, at) => 'value ' + at))
  `, [['call', refused('OutputTooLarge')]], { control: 'none', limits: { outputBytes: 100_000 } }),
  attack(325, 'throws an error whose cause and data are not plain data', `
    const trap = new Proxy({}, { get() { throw trap }, ownKeys() { throw trap } })
    const data = { port: trap, run() {}, get now() { throw 1 } }
    throw Object.assign(new Error('x'), { code: 'NotFound', cause: trap, data })
  `, [['call', refused('NotFound')]], { control: 'none' }),
  attack(326, 'sends updates that are not plain data, endless or not JSON', `
    const cycle = {}
    cycle.cycle = cycle
    const updates = [
      cycle, 1n, () => 1, Symbol('x'), new Proxy({}, { ownKeys() { throw 1 } }), { toJSON() { throw 1 } }, NaN,
      { get a() { throw 1 } }, new Array(1e9), new Map([[1, 2]]),
    ]
    for (const update of updates) runtime.update(update)
    runtime.progress({ toString: () => 'x'.repeat(1e6) })
    return 'done'
  `, [['call', returned('done')]], { control: 'none' }),
]
