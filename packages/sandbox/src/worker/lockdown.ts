import { syncBuiltinESMExports } from 'node:module'
import process from 'node:process'
import { Readable, Writable, Duplex } from 'node:stream'
import { SEARCHES } from './buffer-search.ts'
import { ADMITTED_BUILTINS } from './builtins.ts'
import { dataClone, type Serdes } from './data-clone.ts'
import { freezeIntrinsics } from './freeze.ts'
import { StringDecoder, TextDecoder } from './decoders.ts'
import { ADMITTED_GLOBALS } from './globals.ts'
import { plainLastWords } from './exit-report.ts'
import { randomness } from './randomness.ts'
import { forgetTransfers, lateStreams, type Streams } from './streams.ts'
import { TIMER_CLASSES, TIMERS } from './timers.ts'

/** What Node itself calls on `process` while a worker runs. All else is taken from it. */
const KEPT_OF_PROCESS: ReadonlySet<string> = new Set([
  '_events', '_eventsCount', '_maxListeners', '_exiting', '_fatalException', '_tickCallback', 'domain', 'emitWarning', 'exit',
  'exitCode', 'nextTick', 'reallyExit', 'stderr', 'stdin', 'stdout', 'version', 'versions', 'platform', 'arch', 'features',
  'argv0', 'permission',
])

export interface LockdownOptions {
  /** Takes the place of `globalThis.console`. */
  readonly console: object
}

/**
 * Takes every ambient power from this thread, before the first line of an extension. Builtins that are admitted must have
 * been loaded: some patch prototypes while they load, which is not possible afterwards.
 */
export function lockDown({ console }: LockdownOptions): void {
  process.permission.drop('fs.read')
  const builtins = trimmedBuiltins()
  lateStreams(lazyBuiltin<Streams>('node:stream/web'))
  const stand = standInProcess()
  replaceStdio()
  replaceGlobals({
    structuredClone: dataClone(lazyBuiltin<Serdes>('node:v8')),
    console,
    process: stand,
    // Made at first use: to load all of Node's crypto would take longer than everything else here, and few extensions want it.
    crypto: randomness(lazyGlobal<Crypto>('crypto')),
    performance: stopwatch(),
  })
  gutProcess()
  plainLastWords()
  // Parts of Node that are loaded later take from the builtins what is there then, and hand it to native code unchecked.
  freezeIntrinsics([Readable, Writable, Duplex, StringDecoder, TextDecoder, ...TIMER_CLASSES, ...builtins])
}

/** Loaded the old way: to make an ES module of each, of which most extensions need a few, would take as long as all the rest. */
function trimmedBuiltins(): readonly object[] {
  const builtins = [...ADMITTED_BUILTINS].map(([name, { without = [] }]) => {
    const builtin = process.getBuiltinModule(`node:${name}`) as unknown as Record<string, unknown>
    for (const member of without) delete builtin[member]
    return builtin
  })
  for (const [object, names] of TRIMMED) for (const name of names) Reflect.deleteProperty(object, name)
  exchange()
  forgetTransfers(AbortSignal.prototype)
  syncBuiltinESMExports()
  return builtins
}

/** Of globals that stay: what gives memory a name for others, and what would load the network to read code from it. */
const TRIMMED: ReadonlyMap<object, readonly string[]> = new Map<object, readonly string[]>([
  [URL, ['createObjectURL', 'revokeObjectURL']],
  [(globalThis as unknown as { readonly WebAssembly: object }).WebAssembly, ['compileStreaming', 'instantiateStreaming']],
])

/** Of builtins and globals that stay: what stands before Node's own, which native code believes. */
function exchange(): void {
  const exchanged: readonly (readonly [object, Readonly<Record<string, object>>])[] = [
    [globalThis, { ...TIMERS, TextDecoder }],
    [process.getBuiltinModule('node:timers'), TIMERS],
    [process.getBuiltinModule('node:string_decoder'), { StringDecoder }],
    [process.getBuiltinModule('node:util'), { TextDecoder }],
    [Buffer.prototype, SEARCHES],
  ]
  for (const [object, parts] of exchanged) {
    for (const [name, value] of Object.entries(parts)) {
      Object.defineProperty(object, name, { value, writable: true, configurable: true })
    }
  }
}

function stopwatch(): object {
  const source = lazyGlobal<Performance>('performance')
  return Object.freeze({
    now: () => source().now(),
    get timeOrigin() {
      return source().timeOrigin
    },
  })
}

/** The global of that name as it is now, whatever becomes of the name; Node makes it when it is first looked at. */
function lazyGlobal<Value>(name: string): () => Value {
  const { get } = Object.getOwnPropertyDescriptor(globalThis, name)!
  let value: Value | undefined
  return () => {
    value ??= get!.call(globalThis) as Value
    return value
  }
}

/** Loaded at first use, which few extensions come to. */
function lazyBuiltin<Module>(name: string): () => Module {
  const { getBuiltinModule } = process
  return () => getBuiltinModule(name) as unknown as Module
}

/** The `process` an extension sees: facts that libraries look at, and the one act that harms nobody else. */
function standInProcess(): object {
  const { exit, nextTick, hrtime, uptime, version, versions, platform, arch } = process
  return Object.freeze({
    env: Object.freeze({}), argv: Object.freeze([]), execArgv: Object.freeze([]), version, versions, platform, arch,
    nextTick, hrtime, uptime: uptime.bind(process), cwd: () => '/', emitWarning: () => undefined,
    exit: (code?: number) => exit.call(process, code),
  })
}

const CALLED_BY_PARENT = /kStdioWantsMoreData|kIncrementsPortRef|kStartedReading/

/**
 * The streams of a worker lead, by a symbol, to a port where one wrong message ends the parent. Ours lead nowhere, but
 * have the methods that the parent's reading would call.
 */
function replaceStdio(): void {
  const nowhere: Record<PropertyKey, unknown> = {
    write: () => true, end: () => undefined, on: () => silent, once: () => silent, off: () => silent, emit: () => false,
    isTTY: false, writable: true, writableNeedDrain: false,
  }
  for (const stream of [process.stdout, process.stdin]) {
    for (let at: object | null = stream; at !== null; at = Object.getPrototypeOf(at) as object | null) {
      for (const symbol of Object.getOwnPropertySymbols(at)) {
        if (CALLED_BY_PARENT.test(symbol.description ?? '')) nowhere[symbol] = () => undefined
      }
    }
  }
  const silent = Object.freeze(nowhere)
  for (const name of ['stdout', 'stderr', 'stdin']) {
    Object.defineProperty(process, name, { value: silent, writable: false, configurable: false, enumerable: true })
  }
}

function replaceGlobals(replacements: Readonly<Record<string, object>>): void {
  for (const name of Object.getOwnPropertyNames(globalThis)) {
    if (ADMITTED_GLOBALS.has(name) || Reflect.deleteProperty(globalThis, name)) continue
    // What flags of the host's process give to every thread, such as --expose-gc, can be emptied but not deleted.
    Reflect.defineProperty(globalThis, name, { value: undefined, writable: false })
  }
  for (const [name, value] of Object.entries(replacements)) {
    Object.defineProperty(globalThis, name, { value, writable: false, configurable: false, enumerable: false })
  }
}

/** In place: the object can be reached through Node's own machinery, whatever the global says. */
function gutProcess(): void {
  for (const name of Object.getOwnPropertyNames(process)) {
    if (!KEPT_OF_PROCESS.has(name)) Reflect.deleteProperty(process, name)
  }
  // The module loader looks for a variable here.
  Object.defineProperty(process, 'env', { value: Object.freeze({ __proto__: null }), writable: false, configurable: false })
}
