import { posix } from 'node:path'
import type { CompartmentCode } from '@bulkhead/contract'

/** The tool that `instrumented` adds. It returns a `Probe`. */
export const PROBE_TOOL = 'conformance_probe'

/** What the instruments counted. */
export interface Probe {
  /** Timers that are set and neither fired nor cleared. */
  readonly timers: number
  /** Keys of the configuration that the code read. */
  readonly configKeys: readonly string[]
}

const FOLDER = '.bulkhead-conformance'

/**
 * Code with a fixed clock and seed for each call, and with counted timers. Inside a compartment the globals can be
 * replaced before the code of the extension is imported.
 */
export function instrumented(code: Extract<CompartmentCode, { kind: 'files' }>): CompartmentCode {
  const main = posix.join('..', code.main)
  const files = new Map([
    ...code.files,
    [`${FOLDER}/globals.mjs`, bytesOf(GLOBALS)], [`${FOLDER}/main.mjs`, bytesOf(mainOf(main))],
  ])
  return { ...code, main: `./${FOLDER}/main.mjs`, files }
}

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text)

/** Each reading moves the clock by a millisecond, so that a loop until a point in time ends. */
const GLOBALS = `const open = new Set()
const RealDate = Date
let now, seed
export const reset = () => { now = 1767225600000; seed = 1 }
reset()
export const timers = () => open.size

const counted = (set, isOnce) => Object.defineProperties((run, ...rest) => {
  const timer = set(typeof run !== 'function' ? run : function (...args) {
    if (isOnce) open.delete(timer)
    return run.apply(this, args)
  }, ...rest)
  for (const end of ['close', Symbol.dispose]) {
    const real = timer[end]
    if (real) Object.defineProperty(timer, end, { value: () => { open.delete(timer); return real.call(timer) } })
  }
  open.add(timer)
  return timer
}, Object.getOwnPropertyDescriptors(set))
const clearing = (clear) => (timer) => {
  const isNumber = typeof timer === 'number' || typeof timer === 'string'
  for (const one of isNumber ? open : [timer]) if (!isNumber || Number(one) === Number(timer)) open.delete(one)
  clear(timer)
}
for (const [set, clear, isOnce] of [
  ['setTimeout', 'clearTimeout', true], ['setInterval', 'clearInterval', false],
  ['setImmediate', 'clearImmediate', true],
]) {
  globalThis[set] = counted(globalThis[set], isOnce)
  globalThis[clear] = clearing(globalThis[clear])
}

globalThis.Date = function Date(...args) {
  if (new.target === undefined) return new RealDate(now++).toString()
  return Reflect.construct(RealDate, args.length === 0 ? [now++] : args, new.target === Date ? RealDate : new.target)
}
Object.assign(globalThis.Date, { now: () => now++, parse: RealDate.parse, UTC: RealDate.UTC })
globalThis.Date.prototype = RealDate.prototype

const random = () => {
  seed = (seed * 48271) % 2147483647
  return seed / 2147483647
}
globalThis.Math = Object.create(Math, { random: { value: random } })
`

const mainOf = (main: string): string => `import { reset, timers } from './globals.mjs'
import extension from ${JSON.stringify(main)}

const configKeys = new Set()
const watched = (config) => new Proxy(config, {
  get(target, key) { if (typeof key === 'string') configKeys.add(key); return target[key] },
  has(target, key) { configKeys.add(key); return key in target },
  ownKeys(target) { for (const key of Object.keys(target)) configKeys.add(key); return Reflect.ownKeys(target) },
})
const tools = Object.fromEntries(Object.entries(extension.tools).map(([name, tool]) => [name, Object.create(tool, {
  execute: { value: (...args) => { reset(); return tool.execute(...args) } },
})]))
tools.${PROBE_TOOL} = { execute: () => ({ timers: timers(), configKeys: [...configKeys] }) }
const phases = Object.fromEntries(['init', 'activate', 'deactivate', 'dispose']
  .filter((phase) => typeof extension[phase] === 'function')
  .map((phase) => [phase, { value: function (context) {
    return extension[phase].call(this, { ...context, config: watched(context.config) })
  } }]))
export default Object.create(extension, { ...phases, tools: { value: tools } })
`
