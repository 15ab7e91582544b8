/** The builtin modules a compartment has, each with the reason why it may. Everything else is denied. */
export const ADMITTED_BUILTINS: ReadonlyMap<string, { readonly reason: string; readonly without?: readonly string[] }> = new Map([
  ['assert', { reason: 'pure checks' }],
  ['assert/strict', { reason: 'pure checks' }],
  ['buffer', { reason: 'bytes in memory', without: ['Blob', 'File', 'resolveObjectURL'] }],
  ['events', { reason: 'callbacks in memory; its prototype is frozen', without: ['EventEmitterAsyncResource'] }],
  ['path', { reason: 'text only' }],
  ['path/posix', { reason: 'text only' }],
  ['path/win32', { reason: 'text only' }],
  ['querystring', { reason: 'text only' }],
  ['string_decoder', { reason: 'bytes to text' }],
  ['timers', { reason: 'the same timers as the globals' }],
  ['timers/promises', { reason: 'the same timers as promises' }],
  ['url', { reason: 'text only', without: ['URLPattern'] }],
  ['util', {
    reason: 'formatting and inspection',
    without: ['debug', 'debuglog', 'setTraceSigInt', 'transferableAbortController', 'transferableAbortSignal'],
  }],
  ['util/types', { reason: 'questions about values' }],
])

/** What to declare instead of importing a module that reaches outside. */
const INSTEAD: ReadonlyMap<string, string> = new Map([
  ...['fs', 'fs/promises', 'sqlite'].map((name) => [name, 'fs'] as const),
  ...['net', 'tls', 'http', 'https', 'http2', 'dgram', 'dns', 'dns/promises'].map((name) => [name, 'net'] as const),
  ...['child_process', 'cluster'].map((name) => [name, 'shell'] as const),
])

/** The sentence for an import that is refused. */
export function denial(name: string): string {
  const capability = INSTEAD.get(name)
  const cure = capability === undefined
    ? 'No capability stands for it; bundle an implementation in JavaScript, or do without.'
    : `Declare \`${capability}\` in \`requires\` and use \`runtime.${capability}\`.`
  return `The module node:${name} does not exist in a compartment. ${cure}`
}

/** The name of a builtin without its scheme, or undefined when the specifier cannot be one. */
export function builtinName(specifier: string, known: ReadonlySet<string>): string | undefined {
  if (specifier.startsWith('node:')) return specifier.slice('node:'.length)
  return known.has(specifier) ? specifier : undefined
}
