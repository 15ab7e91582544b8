import type { Json } from '@bulkhead/kit/json'
import { toPlainJson } from './plain-json.ts'
import { WIRE_LIMITS } from './message.ts'
import type { EndReport, WireError } from './protocol.ts'

const DATA = { maxDepth: 16, maxNodes: 1_000, maxBytes: WIRE_LIMITS.errorChars }
const REPORT_CHARS = 2_000
const REPORT_STACK_CHARS = 1_000

/** An error of the other side, rebuilt from data. Its code is unchecked. */
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

/** An error with a code. The host turns it into the BulkheadError of that code; a tool can check the code. */
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

/**
 * Any thrown value as data; long strings and deep chains of causes are cut. Contract: never throws, even for proxies
 * and throwing accessors.
 */
export function toWireError(thrown: unknown, depth = 1): WireError {
  if (typeof thrown !== 'object' || thrown === null) return { name: 'Error', message: clip(`threw ${text(thrown)}`) }
  const message = read(thrown, 'message')
  const name = read(thrown, 'name')
  const code = read(thrown, 'code')
  const stack = read(thrown, 'stack')
  const data = plain(read(thrown, 'data'))
  const cause = depth < WIRE_LIMITS.errorDepth ? read(thrown, 'cause') : undefined
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
  if (typeof value === 'symbol' || typeof value === 'function') return `a ${typeof value}`
  return `${value as string | number | null}`
}

const clip = (value: string): string => value.slice(0, WIRE_LIMITS.errorChars).toWellFormed()

/** An uncaught error of the thread of a compartment, as a report of its end. */
export function errorReport(error: unknown): EndReport {
  const { code, message, stack } = (error ?? {}) as Record<'code' | 'message' | 'stack', unknown>
  const frames = typeof stack === 'string' ? toolFrames(stack) : ''
  return {
    type: 'error',
    ...(typeof code === 'string' && { code }),
    ...(typeof message === 'string' && { message: message.slice(0, REPORT_CHARS) }),
    ...(frames !== '' && { stack: frames }),
  }
}

/** The lines of a stack that are about the code of an extension, as many as fit. */
function toolFrames(stack: string): string {
  const frames = stack.split('\n').filter((line) => line.startsWith('    at ') && line.includes('tool://'))
  while (frames.join('\n').length > REPORT_STACK_CHARS) frames.pop()
  return frames.join('\n')
}
