import type { WireError } from '@bulkhead/contract'
import type { Json } from '@bulkhead/kit/json'
import { toPlainJson } from './plain-json.ts'

/** Longer texts and deeper chains of causes are cut: an error is for reading. */
const TEXT_CHARS = 10_000
const CAUSES = 4
const DATA = { maxDepth: 16, maxNodes: 1_000, maxBytes: TEXT_CHARS }

/** An error of the other side, rebuilt from data. Its code is a claim until someone has judged it. */
export class RemoteError extends Error {
  override readonly name: string
  readonly code: string | undefined
  readonly data: Json | undefined

  constructor(wire: WireError) {
    super(wire.message, wire.cause === undefined ? undefined : { cause: new RemoteError(wire.cause) })
    this.name = wire.name
    this.code = wire.code
    this.data = wire.data
    if (wire.stack !== undefined) this.stack = wire.stack
  }
}

/** An error that names its code. The host turns it into the error of that code, a tool can tell it apart by it. */
export class CodedError extends Error {
  override readonly name = 'BulkheadError'
  readonly code: string
  readonly data: Json | undefined

  constructor(code: string, message: string, options: { readonly data?: Json; readonly cause?: unknown } = {}) {
    super(message, 'cause' in options ? { cause: options.cause } : undefined)
    this.code = code
    this.data = options.data
  }
}

/** Anything that can be thrown, as data. Contract: never throws, whatever traps and accessors the value has. */
export function toWireError(thrown: unknown, depth = 1): WireError {
  if (typeof thrown !== 'object' || thrown === null) return { name: 'Error', message: clip(`threw ${text(thrown)}`) }
  const message = read(thrown, 'message')
  const name = read(thrown, 'name')
  const code = read(thrown, 'code')
  const stack = read(thrown, 'stack')
  const data = plain(read(thrown, 'data'))
  const cause = depth < CAUSES ? read(thrown, 'cause') : undefined
  return {
    name: typeof name === 'string' ? clip(name) : 'Error',
    message: typeof message === 'string' ? clip(message) : 'threw something that is not an error',
    ...(typeof code === 'string' && { code: clip(code) }),
    ...(data !== undefined && { data }),
    ...(typeof stack === 'string' && { stack: clip(stack) }),
    ...(cause !== undefined && { cause: toWireError(cause, depth + 1) }),
  }
}

function read(thrown: object, key: string): unknown {
  try {
    return (thrown as Record<string, unknown>)[key]
  } catch {
    return undefined
  }
}

function plain(data: unknown): Json | undefined {
  if (data === undefined) return undefined
  const copy = toPlainJson(data, DATA)
  return copy.ok ? copy.value : undefined
}

function text(value: unknown): string {
  return typeof value === 'symbol' || typeof value === 'function' ? `a ${typeof value}` : `${value as string | number | null}`
}

const clip = (value: string): string => value.slice(0, TEXT_CHARS).toWellFormed()
