import { BulkheadError, CALL_LIMITS, type Clock } from '@bulkhead/contract'
import { visibleText } from '@bulkhead/kit/text'
import type { OfferedTools } from '../extensions/registry/offered-tools.ts'
import { RawCall, type CallRequest, type CallScope, type ReceivedCall, type ResolvedCall } from '../policy/call.ts'

/** What a caller passes. JavaScript callers may pass anything, so it is checked. */
export interface ToolCall {
  readonly id: string
  readonly name: string
  readonly arguments: unknown
}

export interface CallOptions {
  readonly signal?: AbortSignal
  readonly timeoutMs?: number
}

/** A call as it comes in, where it is made from, and its time limit. */
export interface Proposal {
  readonly scope: CallScope
  readonly call: unknown
  readonly timeoutMs: unknown
  /** Why the options of the call cannot be used. */
  readonly fault?: BulkheadError | undefined
}

/** Reads the call once. Never throws, whatever it is given. */
export function propose({ scope, call, timeoutMs, fault }: Proposal, clock: Clock): RawCall {
  const request = readRequest(call, timeoutMs, fault)
  return new RawCall(repeatable(request.id), repeatable(request.name), request, scope, clock.monotonic())
}

function readRequest(call: unknown, timeoutMs: unknown, fault: BulkheadError | undefined): CallRequest {
  try {
    const { id, name, arguments: args } = call as Partial<ToolCall>
    return { id, name, args, timeoutMs, fault }
  } catch {
    return { id: undefined, name: undefined, args: undefined, timeoutMs, fault }
  }
}

/** As much of it as an outcome can repeat. No tool has a name that is cut by this. */
const repeatable = (value: unknown): string =>
  typeof value === 'string' ? value.slice(0, CALL_LIMITS.idChars).toWellFormed() : ''

/** Checks the outline of a call: an id, the name of a tool, a time limit in range. Throws InputInvalid. */
export function receive(call: RawCall): ReceivedCall {
  const { id, name, timeoutMs, fault } = call.request
  // An id that had to be cut or repaired cannot be answered under.
  if (id === '' || id !== call.id) throw malformed(`The call needs an id: a string of 1 to ${CALL_LIMITS.idChars} characters`, '/id')
  if (typeof name !== 'string' || name === '') throw malformed('The call needs the name of a tool', '/name')
  if (fault !== undefined) throw fault
  if (timeoutMs === undefined) return call.accept(undefined)
  if (typeof timeoutMs === 'number' && timeoutMs >= 1 && timeoutMs <= CALL_LIMITS.maxTimeoutMs) return call.accept(timeoutMs)
  throw malformed(`timeoutMs must be a number from 1 to ${CALL_LIMITS.maxTimeoutMs}`, '')
}

const malformed = (message: string, path: string) => new BulkheadError('InputInvalid', `${message}.`, { data: { path } })

/** Finds the tool. From here on the call means this tool of this origin, whatever is registered later. Throws if there is none. */
export function resolve(call: ReceivedCall): ResolvedCall {
  const { tools } = call.scope
  const off = tools.switchedOff(call.name)
  if (off) throw new BulkheadError('ToolsDisabled', off, { data: { tool: call.name } })
  const tool = tools.get(call.name)
  if (!tool) throw unknownTool(call.name, tools)
  return call.bind(tool)
}

function unknownTool(name: string, tools: OfferedTools): BulkheadError {
  const close = tools.closeNames(name)
  const hint = close.length === 0 ? '' : ` Did you mean ${close.map((other) => `"${other}"`).join(' or ')}?`
  const shown = visibleText(name.length > 64 ? `${name.slice(0, 64)}…` : name)
  return new BulkheadError('ToolNotRegistered', `There is no tool "${shown}".${hint}`, { data: { close } })
}
