import process from 'node:process'
import { syncBuiltinESMExports } from 'node:module'
import { toWireError } from '../wire/errors.ts'
import type { WireError } from '../wire/protocol.ts'
import { ALLOWED_BUILTINS, ALLOWED_GLOBALS } from './allow-list.ts'
import { freezeIntrinsics } from './freeze.ts'
import { dataClone, randomness, SEARCHES, StringDecoder, TextDecoder, type Serdes } from './native-guards.ts'
import { surroundings } from './shims.ts'
import { removeTransferMethods, lateStreams, type Streams } from './streams.ts'
import { TIMER_CLASSES, TIMERS } from './timers.ts'

/** Captured before extension code runs, which could replace them. */
const { defineProperty } = Object
const PlainError = Error

/** Members of `process` that Node itself uses while a worker runs. All others are removed. */
const KEPT_OF_PROCESS: ReadonlySet<string> = new Set([
  '_events', '_eventsCount', '_maxListeners', '_exiting', '_fatalException', '_tickCallback', 'domain', 'emitWarning',
  'exit', 'exitCode', 'nextTick', 'reallyExit', 'stderr', 'stdin', 'stdout', 'version', 'versions', 'platform', 'arch',
  'features', 'argv0', 'permission',
])

export interface LockdownOptions {
  /** Replaces `globalThis.console`. */
  readonly console: object
}

/**
 * Removes all ambient access from this thread, before the first line of an extension. It loads the allowed builtins
 * first: some patch prototypes while they load, which is impossible afterwards.
 */
export function lockDown({ console }: LockdownOptions): void {
  const builtins = trimmedBuiltins()
  lateStreams(lazyBuiltin<Streams>('node:stream/web'))
  const replacement = replacementProcess()
  replaceStdio()
  replaceGlobals({
    structuredClone: dataClone(lazyBuiltin<Serdes>('node:v8')),
    console,
    process: replacement,
    // Loaded at first use: Node's crypto takes longer to load than everything else here, and few extensions use it.
    crypto: randomness(lazyGlobal<Crypto>('crypto'), () => surroundings.subtle()),
    performance: stopwatch(),
  })
  trimProcess()
  reportPlainErrors()
  // Parts of Node that load later read members of these builtins and pass them to native code unchecked.
  freezeIntrinsics([StringDecoder, TextDecoder, ...TIMER_CLASSES, ...builtins])
}

/** With getBuiltinModule: importing each as an ES module would take as long as the rest of lockdown. */
function trimmedBuiltins(): readonly object[] {
  const eager = [...ALLOWED_BUILTINS].filter(([, { isLate }]) => isLate !== true)
  const builtins = eager.map(([name, { without = [] }]) => {
    const builtin = process.getBuiltinModule(`node:${name}`) as unknown as Record<string, unknown>
    for (const member of without) delete builtin[member]
    return builtin
  })
  for (const [object, names] of TRIMMED) for (const name of names) Reflect.deleteProperty(object, name)
  replaceUnchecked()
  removeTransferMethods(AbortSignal.prototype)
  syncBuiltinESMExports()
  return builtins
}

/** Removed members of allowed globals: object URLs, and code loaded from streams. */
const TRIMMED: ReadonlyMap<object, readonly string[]> = new Map<object, readonly string[]>([
  [URL, ['createObjectURL', 'revokeObjectURL']],
  [
    (globalThis as unknown as { readonly WebAssembly: object }).WebAssembly,
    ['compileStreaming', 'instantiateStreaming'],
  ],
])

/** `debuglog` of node:util. Node's reads a variable and writes to stderr. */
const silentLog = (): object => Object.assign(() => undefined, { enabled: false })

/** Replaces members of Node that pass reachable state to native code unchecked. */
function replaceUnchecked(): void {
  const replaced: readonly (readonly [object, Readonly<Record<string, object>>])[] = [
    [globalThis, { ...TIMERS, TextDecoder }],
    [process.getBuiltinModule('node:timers'), TIMERS],
    [process.getBuiltinModule('node:string_decoder'), { StringDecoder }],
    [process.getBuiltinModule('node:util'), { TextDecoder, debuglog: silentLog, debug: silentLog }],
    [Buffer.prototype, SEARCHES],
  ]
  for (const [object, parts] of replaced) {
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

/** The original global of that name, even after it is replaced. Node creates it on first access. */
function lazyGlobal<Value>(name: string): () => Value {
  const { get } = Object.getOwnPropertyDescriptor(globalThis, name)!
  let value: Value | undefined
  return () => {
    value ??= get!.call(globalThis) as Value
    return value
  }
}

/** Loaded at first use, which is rare. */
function lazyBuiltin<Module>(name: string): () => Module {
  const { getBuiltinModule } = process
  return () => getBuiltinModule(name) as unknown as Module
}

/**
 * The `process` of an extension: properties that libraries read, and `exit`, which ends only this thread. Its events
 * never happen, so a listener has no effect and survives nothing.
 */
function replacementProcess(): object {
  const { exit, nextTick, hrtime, uptime, version, versions, platform, arch, release } = process
  const listening = (): object => replacement
  const end = (code?: number): never => exit.call(process, code)
  const stream = Object.freeze({
    isTTY: false, columns: 80, writable: true, write: () => true, end: () => undefined, on: () => stream,
    once: () => stream, off: () => stream, removeListener: () => stream, emit: () => false,
    getColorDepth: () => 1, hasColors: () => false,
  })
  // Not frozen: nothing but the extension uses it, and libraries replace members.
  const replacement = {
    get env() {
      return surroundings.env
    },
    get title() {
      return 'node'
    },
    get exit() {
      return end
    },
    argv: Object.freeze([]), execArgv: Object.freeze([]), version, versions, platform, arch, pid: 1, ppid: 0,
    execPath: 'node', argv0: 'node', exitCode: undefined, release: Object.freeze({ name: release.name }),
    stdout: stream, stderr: stream, stdin: stream,
    nextTick, hrtime, uptime: uptime.bind(process), cwd: () => surroundings.cwd, emitWarning: () => undefined,
    on: listening, once: listening, off: listening, addListener: listening, removeListener: listening,
    removeAllListeners: listening, prependListener: listening, setMaxListeners: listening, emit: () => false,
    listeners: () => [], listenerCount: () => 0, eventNames: () => [],
  }
  return replacement
}

const CALLED_BY_PARENT = /kStdioWantsMoreData|kIncrementsPortRef|kStartedReading/

/**
 * The stdio streams of a worker hold, under a symbol, a port on which a malformed message aborts the parent. The
 * replacements go nowhere, but have the methods that the parent calls.
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
    if (ALLOWED_GLOBALS.has(name) || Reflect.deleteProperty(globalThis, name)) continue
    // Globals of flags such as --expose-gc cannot be deleted, only emptied.
    Reflect.defineProperty(globalThis, name, { value: undefined, writable: false })
  }
  for (const [name, value] of Object.entries(replacements)) {
    Object.defineProperty(globalThis, name, { value, writable: false, configurable: false, enumerable: false })
  }
}

/** Changes the object in place: Node's own code reaches it, whatever the global is. */
function trimProcess(): void {
  for (const name of Object.getOwnPropertyNames(process)) {
    if (!KEPT_OF_PROCESS.has(name)) Reflect.deleteProperty(process, name)
  }
  // The module loader reads a variable.
  const value = Object.freeze({ __proto__: null })
  Object.defineProperty(process, 'env', { value, writable: false, configurable: false })
  // `resolve` of node:path reads it.
  const cwd = (): string => surroundings.cwd
  Object.defineProperty(process, 'cwd', { value: cwd, writable: false, configurable: false })
}

type Fatal = (thrown: unknown, fromPromise: boolean) => boolean

/**
 * Node sends an uncaught error to the parent thread and rebuilds it from its properties. Some properties make that
 * throw in the parent, where it would end the host. After this call the parent gets a plain error with the same
 * message.
 */
function reportPlainErrors(): void {
  const internals = process as unknown as { _fatalException: Fatal }
  // oxlint-disable-next-line eslint/no-underscore-dangle -- Node looks it up by this name each time
  const fatal = internals._fatalException
  defineProperty(process, '_fatalException', {
    value: (thrown: unknown, fromPromise: boolean) => fatal(plain(thrown), fromPromise),
    writable: false,
    configurable: false,
  })
}

function plain(thrown: unknown): Error {
  const { message, stack = message } = wireErrorOf(thrown)
  const error = new PlainError(message)
  // Set here: computing it could run code of the extension.
  defineProperty(error, 'stack', { value: stack })
  return error
}

function wireErrorOf(thrown: unknown): Pick<WireError, 'message' | 'stack'> {
  try {
    return toWireError(thrown)
  } catch {
    return { message: 'threw a value that cannot be read' }
  }
}
