import { BulkheadError, CALL_LIMITS, type CallLog, type CallProgress, type Clock } from '@bulkhead/contract'
import { adviceOnArgument, adviceOnTool, canonicalToolName } from '@bulkhead/contract/dialects'
import {
  isJsonObject, parseJson, pointerKey, pointerStep, type Json, type JsonLimits, type JsonObject,
} from '@bulkhead/kit/json'
import { copyJson } from '@bulkhead/kit/json-copy'
import { visibleText } from '@bulkhead/kit/text'
import type { OfferedTools } from '../extensions/registry/offered-tools.ts'
import type { SchemaCheck, SchemaFault } from '../extensions/schema-checks.ts'
import {
  Call, ResolvedCall, ValidatedCall, type CallRequest, type CallScope, type ReceivedCall, type ValidArguments,
} from '../policy/call.ts'

/** What a caller passes. JavaScript callers may pass anything, so it is checked. */
export interface ToolCall {
  readonly id: string
  readonly name: string
  readonly arguments: unknown
  /**
   * Of several calls with the same key, one runs, and the others get its recorded outcome. Kept for 24 hours, per
   * principal and workspace, only with a store that outlives the process. The tool gets it as
   * `runtime.call.idempotencyKey`. 1 to 200 visible ASCII characters.
   */
  readonly idempotencyKey?: string
}

export interface CallOptions {
  readonly signal?: AbortSignal
  readonly timeoutMs?: number
  /**
   * Called with each progress message and update of the running tool, and of the tools that it calls. Never called
   * after the outcome. What it throws becomes a `SuppressedError` event.
   */
  readonly onProgress?: (progress: CallProgress) => void
  /**
   * Called with each line that these tools log, as `onProgress`. Lines that arrive after the outcome are events only.
   */
  readonly onLog?: (line: CallLog) => void
  /**
   * What makes the call repeats it: it is tried once, and it needs an idempotency key and a store that outlives the
   * process. See `callAsStep`.
   */
  readonly isStep?: boolean
}

/** A call as it comes in, where it is made from, and its time limit. */
export interface Proposal {
  readonly scope: CallScope
  readonly call: unknown
  readonly timeoutMs: unknown
  readonly isStep?: boolean
  /** Why the options of the call cannot be used. */
  readonly fault?: BulkheadError | undefined
}

/** Reads the call once. Never throws, whatever it is given. */
export function propose({ scope, call, timeoutMs, isStep = false, fault }: Proposal, clock: Clock): Call {
  const request = readRequest(call, timeoutMs, isStep, fault)
  const { id, name } = request
  return new Call({ id: repeatable(id), name: repeatable(name), request, scope, startedAt: clock.monotonic() })
}

function readRequest(
  call: unknown, timeoutMs: unknown, isStep: boolean, fault: BulkheadError | undefined,
): CallRequest {
  try {
    const { id, name, arguments: args, idempotencyKey: key } = call as Partial<ToolCall>
    return Object.freeze({ id, name, args, key, timeoutMs, isStep, fault: fault ?? unknownField(call as object) })
  } catch {
    return Object.freeze({ id: undefined, name: undefined, args: undefined, key: undefined, timeoutMs, isStep, fault })
  }
}

const FIELDS: ReadonlySet<string> = 
  new Set(['id', 'name', 'arguments', 'idempotencyKey'] satisfies (keyof ToolCall)[])
/** What other programs call the arguments. */
const ARGUMENT_FIELDS: ReadonlySet<string> = new Set(['args', 'parameters', 'input'])

/** A field that the host would ignore may be one that the caller relies on. */
function unknownField(call: object): BulkheadError | undefined {
  const field = Object.keys(call).find((key) => !FIELDS.has(key))
  if (field === undefined) return undefined
  const cure = ARGUMENT_FIELDS.has(field) ? 'Pass the arguments as "arguments".' : 'Pass "id", "name" and "arguments" only.'
  const message = `The call has an unknown field "${visibleText(field.slice(0, 64))}". ${cure}`
  return new BulkheadError('InputInvalid', message, { data: { path: pointerStep(field) } })
}

/** As much of it as an outcome can repeat. No tool has a name that is cut by this. */
const repeatable = (value: unknown): string =>
  typeof value === 'string' ? value.slice(0, CALL_LIMITS.idChars).toWellFormed() : ''

/** Checks the outline of a call: an id, the name of a tool, a time limit in range. Throws InputInvalid. */
export function receive(call: Call): ReceivedCall {
  const { id, name, key, timeoutMs, isStep, fault } = call.request
  // An id that had to be cut or repaired cannot be answered under.
  if (id === '' || id !== call.id) {
    throw malformed(`The call needs an id: a string of 1 to ${CALL_LIMITS.idChars} characters`, '/id')
  }
  if (typeof name !== 'string' || name === '') throw malformed('The call needs the name of a tool', '/name')
  if (fault !== undefined) throw fault
  if (key !== undefined && (typeof key !== 'string' || !KEY.test(key))) {
    throw malformed('idempotencyKey must be a string of 1 to 200 visible ASCII characters', '/idempotencyKey')
  }
  if (isStep && key === undefined) throw malformed('A call that is a step needs an idempotencyKey', '/idempotencyKey')
  if (timeoutMs === undefined) return { call, timeoutMs }
  if (typeof timeoutMs === 'number' && timeoutMs >= 1 && timeoutMs <= CALL_LIMITS.maxTimeoutMs) {
    return { call, timeoutMs }
  }
  throw malformed(`timeoutMs must be a number from 1 to ${CALL_LIMITS.maxTimeoutMs}`, '/timeoutMs')
}

/** It may travel in a header. */
const KEY = /^[\x21-\x7e]{1,200}$/

const malformed = (message: string, path: string) =>
  new BulkheadError('InputInvalid', `${message}.`, { data: { path } })

/**
 * Finds the tool. From here on the call means this tool of this origin, whatever is registered later. Throws if there
 * is none.
 */
export function resolve({ call, timeoutMs }: ReceivedCall): ResolvedCall {
  const { tools } = call.scope
  const off = tools.switchedOff(call.name)
  if (off) throw new BulkheadError('ToolsDisabled', off, { data: { tool: call.name } })
  const tool = tools.get(call.name)
  if (!tool) throw unknownTool(call, tools)
  return new ResolvedCall(call, timeoutMs, tool)
}

function unknownTool({ name, request: { args } }: Call, tools: OfferedTools): BulkheadError {
  const has = (other: string): boolean => tools.get(other) !== undefined
  const meant = canonicalToolName(name, has)
  const advice = meant === name ? adviceOnTool(name, actionIn(args), has) : `Use "${meant}" instead.`
  const close = tools.closeNames(name)
  const like = close.length === 0 ? '' : ` Did you mean ${close.map((other) => `"${other}"`).join(' or ')}?`
  const hint = advice === undefined ? like : ` ${advice}`
  const shown = visibleText(name.length > 64 ? `${name.slice(0, 64)}…` : name)
  return new BulkheadError('ToolNotRegistered', `There is no tool "${shown}".${hint}`, { data: { close } })
}

/** Never throws, whatever the arguments are. */
function actionIn(args: unknown): unknown {
  try {
    return (args as { readonly action?: unknown } | undefined)?.action
  } catch {
    return undefined
  }
}

const LIMITS: JsonLimits = {
  maxDepth: CALL_LIMITS.argumentDepth, maxNodes: CALL_LIMITS.argumentNodes, maxChars: CALL_LIMITS.argumentChars,
}

/** Arguments within the limits. */
interface TakenArguments {
  /** A frozen copy. */
  readonly args: JsonObject
  /** About their length as JSON. */
  readonly chars: number
}

/** Copies the arguments, so that later changes by the caller have no effect. Throws InputInvalid. */
export const takeArguments = ({ tool, request }: ResolvedCall): TakenArguments => copied(tool.name, request.args)

/** Checks them against the schema of the tool. Throws InputInvalid. */
export const validate = (call: ResolvedCall, taken: TakenArguments): ValidatedCall =>
  new ValidatedCall(call, validArguments(call, taken, undefined))

/** The same for arguments that a policy wants instead. */
export const withArguments = (call: ValidatedCall, wanted: unknown): ValidatedCall =>
  new ValidatedCall(call, validArguments(call, copied(call.tool.name, wanted), call.proposed ?? call.args))

/** The call as a person wants it: what the model proposed counts no more. Throws InputInvalid. */
export const editedCall = (call: ValidatedCall, wanted: unknown): ValidatedCall =>
  new ValidatedCall(call, validArguments(call, copied(call.tool.name, wanted), undefined))

function copied(tool: string, wanted: unknown): TakenArguments {
  if (wanted === undefined) throw invalid(tool, { path: '', message: 'the call has no "arguments". Pass an object', keyword: 'kind' })
  const copy = copyJson(wanted, LIMITS)
  if (!copy.ok) throw invalid(tool, { ...copy.fault, keyword: copy.fault.code })
  const { value: args, chars } = copy
  if (!isJsonObject(args)) throw invalid(tool, { path: '', message: notAnObject(args), keyword: 'type' })
  return { args, chars }
}

function validArguments(
  { tool, timeoutMs }: ResolvedCall, { args, chars }: TakenArguments, proposed: JsonObject | undefined,
): ValidArguments {
  const checked = checkArguments(args, tool.check, chars)
  if ('fault' in checked) {
    const { path, member } = checked.fault
    const advice = path === '' && member !== undefined ? adviceOnArgument(tool.name, member) : undefined
    throw invalid(tool.name, checked.fault, advice)
  }
  const time = tool.commandTime?.(checked.args, timeoutMs)
  const timeMs = (time ? time.leftMs : timeoutMs) ?? tool.timeoutMs
  return { args: checked.args, argsChars: chars, proposed, timeMs }
}

/** A model that stops in the middle of its arguments, and a program that does not parse them, both send a string. */
function notAnObject(args: Json): string {
  if (typeof args !== 'string') return 'must be an object'
  const parsed = parseJson(args)
  if (!parsed.ok) return `they are a string that ${parsed.fault.message}`
  return isJsonObject(parsed.value) ? 'they are a JSON string; pass the parsed object instead' : 'must be an object'
}

function invalid(tool: string, { path, message, keyword: rule, member }: SchemaFault, advice?: string): BulkheadError {
  const where = path === '' ? 'The arguments' : `The argument at "${path}"`
  const text = `${where} of "${tool}" cannot be accepted: ${message}.${advice === undefined ? '' : ` ${advice}`}`
  return new BulkheadError('InputInvalid', text, { data: { path, message, rule, ...(member !== undefined && { member }) } })
}

/** Each removed null costs another check. */
const MAX_REMOVED = 64

export type Checked =
  | { readonly args: JsonObject }
  | { readonly fault: SchemaFault }

/**
 * Many models send null for an optional member that they leave out. A null that the schema does not accept is removed,
 * if the member is optional. Other arguments are checked once.
 */
function checkArguments(sent: JsonObject, check: SchemaCheck, chars: number): Checked {
  let args = sent
  for (let removals = 0; ; removals++) {
    const fault = check(args, chars)
    if (fault === undefined) return { args }
    const without = removals < MAX_REMOVED ? withoutNull(args, fault.path) : undefined
    if (without === undefined) return { fault }
    // A required member is not missing: it is null.
    const next = check(without, chars)
    if (next?.keyword === 'required' && next.path === parentOf(fault.path) && isAbout(next, fault.path)) {
      return { fault }
    }
    args = without
  }
}

const parentOf = (path: string): string => path.slice(0, path.lastIndexOf('/'))

const isAbout = ({ member }: SchemaFault, path: string): boolean =>
  member !== undefined && path.endsWith(pointerStep(member))

/** Returns undefined if the path does not lead to a member that is null. */
function withoutNull(value: Json, path: string): JsonObject | undefined {
  if (path === '') return undefined
  const [, first, ...rest] = path.split('/')
  return removed(value, [first!, ...rest].map(pointerKey)) as JsonObject | undefined
}

function removed(value: Json | undefined, [key, ...rest]: readonly string[]): Json | undefined {
  if (key === undefined || typeof value !== 'object' || value === null) return undefined
  if (Array.isArray(value)) {
    const item = removed((value as readonly Json[])[Number(key)], rest)
    return item === undefined ? undefined : Object.freeze((value as readonly Json[]).with(Number(key), item))
  }
  if (!isJsonObject(value) || !Object.hasOwn(value, key)) return undefined
  if (rest.length > 0) {
    const member = removed(value[key], rest)
    return member === undefined ? undefined : Object.freeze({ ...value, [key]: member })
  }
  const { [key]: last, ...others } = value
  return last === null ? Object.freeze(others) : undefined
}
