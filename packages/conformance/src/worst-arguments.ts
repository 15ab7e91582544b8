import type { JsonObject } from '@bulkhead/kit/json'

/** Well-formed JSON objects that careless code trips over: each could be sent by a model. */
export function worstArguments(): readonly JsonObject[] {
  return [
    {},
    { constructor: { prototype: { polluted: true } }, toString: null, hasOwnProperty: 0, length: -1 },
    { path: '../../../../etc/passwd', url: 'file:///etc/passwd', command: '$(id)', city: '\u001b[2J' },
    { text: 'x'.repeat(1024 * 1024) },
    { list: Array.from({ length: 10_000 }, (_, index) => index) },
    nested(30),
    { number: Number.MAX_VALUE, zero: -0, empty: '', nothing: null },
  ]
}

function nested(depth: number): JsonObject {
  return depth === 0 ? { end: true } : { next: nested(depth - 1) }
}
