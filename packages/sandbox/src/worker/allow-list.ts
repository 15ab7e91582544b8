import { SHIM_MODULES, type ShimCapability } from '../wire/shim-table.ts'
import { STREAMS } from './streams.ts'

/** The globals of a compartment. All others are deleted. */
export const ALLOWED_GLOBALS: ReadonlySet<string> = new Set([
  // The language.
  'Object', 'Function', 'Array', 'Number', 'parseFloat', 'parseInt', 'Infinity', 'NaN', 'undefined', 'Boolean',
  'String', 'Symbol', 'Date', 'Promise', 'RegExp', 'Error', 'AggregateError', 'EvalError', 'RangeError',
  'ReferenceError', 'SyntaxError', 'TypeError', 'URIError', 'SuppressedError', 'globalThis', 'JSON', 'Math', 'Intl',
  'Temporal', 'ArrayBuffer', 'Uint8Array', 'Int8Array', 'Uint16Array', 'Int16Array', 'Uint32Array', 'Int32Array',
  'BigUint64Array', 'BigInt64Array', 'Uint8ClampedArray', 'Float16Array', 'Float32Array', 'Float64Array', 'DataView',
  'Map', 'Set', 'WeakMap', 'WeakSet', 'WeakRef', 'FinalizationRegistry', 'BigInt', 'Iterator', 'Proxy', 'Reflect',
  'DisposableStack', 'AsyncDisposableStack', 'decodeURI', 'decodeURIComponent', 'encodeURI', 'encodeURIComponent',
  'escape', 'unescape', 'eval', 'isFinite', 'isNaN', 'WebAssembly', 'global',
  // Strings, bytes, URLs. No URLPattern: its accessors abort the process when called on another object.
  'Buffer', 'TextEncoder', 'TextDecoder', 'atob', 'btoa', 'URL', 'URLSearchParams', 'structuredClone',
  // Time and cancellation.
  'setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'setImmediate', 'clearImmediate', 'queueMicrotask',
  'AbortController', 'AbortSignal', 'Event', 'EventTarget', 'CustomEvent', 'DOMException', 'QuotaExceededError',
  ...STREAMS,
  // Lockdown replaces these.
  'console', 'process', 'crypto', 'performance',
])

/** Globals over `runtime.net`. Without its capability, each exists to say what to declare. */
export const SHIM_GLOBALS = ['fetch', 'Request', 'Response', 'Headers', 'FormData'] as const

interface AllowedBuiltin {
  readonly reason: string
  readonly without?: readonly string[]
  /** Locked down when it is first imported. */
  readonly isLate?: true
}

/** The builtin modules of a compartment, each with the reason. All others are denied. */
export const ALLOWED_BUILTINS: ReadonlyMap<string, AllowedBuiltin> = new Map<string, AllowedBuiltin>([
  ['assert', { reason: 'pure checks' }],
  ['assert/strict', { reason: 'pure checks' }],
  ['buffer', { reason: 'bytes in memory', without: ['Blob', 'File', 'resolveObjectURL'] }],
  ['events', { reason: 'callbacks in memory; its prototype is frozen', without: ['EventEmitterAsyncResource'] }],
  ['path', { reason: 'strings only' }],
  ['path/posix', { reason: 'strings only' }],
  ['path/win32', { reason: 'strings only' }],
  ['querystring', { reason: 'strings only' }],
  ['stream', { reason: 'values in memory; its classes are frozen', isLate: true }],
  ['stream/promises', { reason: 'the same streams as promises', isLate: true }],
  ['string_decoder', { reason: 'bytes to strings' }],
  ['timers', { reason: 'the same timers as the globals' }],
  ['timers/promises', { reason: 'the same timers as promises' }],
  ['url', { reason: 'strings only', without: ['URLPattern'] }],
  ['util', {
    reason: 'formatting and inspection',
    without: ['setTraceSigInt', 'transferableAbortController', 'transferableAbortSignal'],
  }],
  ['util/types', { reason: 'type checks' }],
])

/** A capability that makes ordinary globals or modules work, with an example of its declaration. */
const EXAMPLES = {
  fs: '"requires": { "fs": { "read": ["{workspace}/**"] } }',
  net: '"requires": { "net": { "hosts": ["api.example.com"] } }',
  shell: '"requires": { "shell": [{ "cmd": "git", "args": ["status", { "rest": true }] }] }',
  env: '"env": ["API_URL"]',
} as const satisfies Readonly<Record<ShimCapability, string>>

/** The capability and what to use instead of a denied module. */
type Instead = readonly [capability: ShimCapability, use: string]
const INSTEAD: ReadonlyMap<string, Instead> = new Map<string, Instead>([
  ['sqlite', ['fs', '`runtime.fs`']],
  ['dgram', ['net', '`fetch` or `runtime.net`']],
  ['cluster', ['shell', '`spawn` of node:child_process or `runtime.shell`']],
])

/** The error message for a global or a member that was used without its capability. */
export const mustDeclare = (what: string, capability: ShimCapability): string =>
  `\`${what}\` works only during a call of a tool that declares \`${capability}\`. `
    + `Declare it in the manifest, for example ${EXAMPLES[capability]}, and use it inside \`execute\`.`

/** The error message for one that was used outside of a call, although its capability is declared or not known yet. */
export const onlyInCalls = (what: string): string =>
  `\`${what}\` works only during a call, and was used outside of one. Use it inside \`execute\`, `
    + 'not at the top level of a module.'

/** The error message for a denied import. */
export function denial(name: string): string {
  const [own] = SHIM_MODULES.get(name) ?? []
  if (own === undefined && SHIM_MODULES.has(name)) {
    return `The module node:${name} exists for code that names it. Import it by its name, written as one string.`
  }
  if (own !== undefined) {
    return `The module node:${name} exists only in an extension that declares \`${own}\`. `
      + `Declare it in the manifest, for example ${EXAMPLES[own]}.`
  }
  const [capability, use] = INSTEAD.get(name) ?? []
  const cure = capability === undefined
    ? 'No capability replaces it. Bundle an implementation in JavaScript, or do without.'
    : `Declare \`${capability}\` in the manifest, for example ${EXAMPLES[capability]}, and use ${use}.`
  return `The module node:${name} does not exist in a compartment. ${cure}`
}

/** The name of a builtin without its scheme; undefined when the specifier is none. */
export function builtinName(specifier: string, known: ReadonlySet<string>): string | undefined {
  if (specifier.startsWith('node:')) return specifier.slice('node:'.length)
  return known.has(specifier) ? specifier : undefined
}
