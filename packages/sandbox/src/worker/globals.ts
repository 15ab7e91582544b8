import { STREAMS } from './streams.ts'

/** The globals a compartment keeps beside the language's own. What is not named here is deleted. */
export const ADMITTED_GLOBALS: ReadonlySet<string> = new Set([
  // The language.
  'Object', 'Function', 'Array', 'Number', 'parseFloat', 'parseInt', 'Infinity', 'NaN', 'undefined', 'Boolean', 'String',
  'Symbol', 'Date', 'Promise', 'RegExp', 'Error', 'AggregateError', 'EvalError', 'RangeError', 'ReferenceError',
  'SyntaxError', 'TypeError', 'URIError', 'SuppressedError', 'globalThis', 'JSON', 'Math', 'Intl', 'Temporal', 'ArrayBuffer',
  'Uint8Array', 'Int8Array', 'Uint16Array', 'Int16Array', 'Uint32Array', 'Int32Array', 'BigUint64Array', 'BigInt64Array',
  'Uint8ClampedArray', 'Float16Array', 'Float32Array', 'Float64Array', 'DataView', 'Map', 'Set', 'WeakMap', 'WeakSet',
  'WeakRef', 'FinalizationRegistry', 'BigInt', 'Iterator', 'Proxy', 'Reflect', 'DisposableStack', 'AsyncDisposableStack',
  'decodeURI', 'decodeURIComponent', 'encodeURI', 'encodeURIComponent', 'escape', 'unescape', 'eval', 'isFinite', 'isNaN',
  'WebAssembly', 'global',
  // Text, bytes, URLs. No URLPattern: asked of another object, what it is made of ends the process, the host's in a thread.
  'Buffer', 'TextEncoder', 'TextDecoder', 'atob', 'btoa', 'URL', 'URLSearchParams', 'structuredClone',
  // Time and cancellation.
  'setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'setImmediate', 'clearImmediate', 'queueMicrotask',
  'AbortController', 'AbortSignal', 'Event', 'EventTarget', 'CustomEvent', 'DOMException', 'QuotaExceededError',
  ...STREAMS,
  // Replaced by lockdown with ones of its own.
  'console', 'process', 'crypto', 'performance',
])
