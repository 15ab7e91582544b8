import {
  beyond, BulkheadError, CALL_LIMITS, compileGrant, ERRORS, powerPhrases, type CompartmentServices,
  type CompartmentSession, type ErrorCode, type ExtensionDescriptor, type InteractionRequest, type InteractionResponse, type Outcome,
  type Power, type ToolManifest,
} from '@bulkhead/contract'
import { completeOutcome, readReturn, type Reading } from '@bulkhead/contract/dialects'
import { formChoices, type FormField, type FormValue } from '@bulkhead/kit/form'
import { isJsonObject, type Json } from '@bulkhead/kit/json'
import { acceptsOf, validatorOf } from './validators.ts'

/** An extension whose tools others may call. */
export type CallableExtension = Pick<ExtensionDescriptor, 'id' | 'version' | 'layer' | 'manifest' | 'code'>

/** The answer of a person who agrees, takes the first option, and fills in what is asked. */
export function answerOf(request: InteractionRequest, answers: ReadonlyMap<string, Json>): InteractionResponse {
  const accepted = (value: Json): InteractionResponse => ({ status: 'accepted', value })
  const given = 'prompt' in request ? answers.get(request.prompt) : undefined
  if (given !== undefined) return accepted(given)
  switch (request.kind) {
    case 'Confirm':
      return accepted(true)
    case 'Select': {
      const [{ label }] = request.options as [(typeof request.options)[0]]
      return accepted(request.multiple ? [label] : label)
    }
    case 'Form':
      return accepted(Object.fromEntries(Object.entries(request.schema.properties)
        .map(([name, field]) => [name, fieldValue(field) as Json])))
    case 'Ask':
    case 'Auth.Password':
      return accepted('An answer of the conformance suite.')
    default:
      return accepted(null)
  }
}

const FORMATS = {
  'email': 'someone@example.com', 'uri': 'https://example.com/', 'date': '2026-01-31',
  'date-time': '2026-01-31T12:00:00Z',
} as const

function fieldValue(field: FormField): FormValue {
  if (field.default !== undefined) return field.default
  const choices = formChoices(field)?.map((choice) => choice.const) ?? []
  const { minimum = 0, maximum = Infinity, minLength = 0, maxLength = Infinity, minItems = 1 } = field
  switch (field.type) {
    case 'boolean':
      return true
    case 'number':
    case 'integer':
      return Math.min(Math.ceil(minimum), maximum)
    case 'array':
      return choices.slice(0, Math.max(1, minItems))
    case 'string':
      return choices[0] ?? (field.format ? FORMATS[field.format] : 'answer'.padEnd(minLength, '.').slice(0, maxLength))
  }
}

/** What a tool keeps for its session. */
export function sessionMemory(): NonNullable<CompartmentServices['session']> {
  let data: Json = null
  return {
    read: async () => ({ id: 'conformance', data }),
    write: async (_callId, next) => { data = next },
  }
}

export interface ToolCaller {
  /** The call that makes this one. */
  readonly callId: string
  readonly power: (tool: ToolManifest, extension: CallableExtension) => Power
  readonly own: CallableExtension
  /** Answers of tools that only fixtures know. */
  readonly answers: ReadonlyMap<string, Json>
  readonly find: (name: string) => CallableExtension | undefined
  readonly sessionOf: (extension: CallableExtension) => Promise<CompartmentSession>
}

/** Names the tool, because the services know a call by its id only. */
export const callIdOf = (tool: string, label: string | number): string => `${tool}/${label}`

let count = 0

/** Calls another tool under the rules of a host: it exists, takes the arguments, and may do no more than the caller. */
export async function callTool(
  name: string, args: Json, signal: AbortSignal, { callId, power, own, answers, find, sessionOf }: ToolCaller,
): Promise<Outcome> {
  const caller = own.manifest.tools.find((tool) => callId.startsWith(callIdOf(tool.name, '')))!
  const depth = Number(/\/nested-(\d+)-\d+$/.exec(callId)?.[1] ?? 0) + 1
  if (depth > CALL_LIMITS.subagentDepth) {
    const deep = `tools call each other ${CALL_LIMITS.subagentDepth} deep at most`
    const why = `${deep}, and "${caller.name}" is that deep`
    return failure(name, 'CapabilityDenied', `The tool "${name}" is denied: ${why}.`)
  }
  const known = answers.get(name)
  if (known !== undefined) return outcomeOf(name, { body: { type: 'output', data: known }, metadata: {} })
  const extension = own.manifest.tools.some((tool) => tool.name === name) ? own : find(name)
  const tool = extension?.manifest.tools.find((one) => one.name === name)
  if (extension === undefined || tool === undefined) {
    const cure = 'Give its answer in fixtures/tools.json.'
    return failure(name, 'ToolNotRegistered', `The suite has no tool "${name}". ${cure}`)
  }
  const fault = validatorOf(tool.inputSchema)(args)
  if (fault !== undefined || !isJsonObject(args)) {
    return failure(name, 'InputInvalid', `The arguments are invalid: ${fault}.`)
  }
  const more = beyond(power(tool, extension), power(caller, own))
  if (more.length > 0) {
    const why = `"${caller.name}", which calls it, may not ${powerPhrases(more, 'may').join('; ')}`
    return failure(name, 'CapabilityDenied', `The tool "${name}" is denied: ${why}. Declare it in \`requires\`.`)
  }
  const deadline = AbortSignal.any([signal, AbortSignal.timeout(tool.timeoutMs ?? CALL_LIMITS.defaultTimeoutMs)])
  try {
    const session = await sessionOf(extension)
    const nested = callIdOf(name, `nested-${depth}-${++count}`)
    const value = await session.call({ callId: nested, tool: name, args, signal: deadline })
    const satisfies = tool.outputSchema && acceptsOf(tool.outputSchema)
    return outcomeOf(name, readReturn(value, { dialect: tool.dialect, satisfies }))
  } catch (thrown) {
    const { code, message } = BulkheadError.from(thrown)
    return failure(name, code, message)
  }
}

const METADATA = { call_id: 'nested', origin: null, duration_ms: 0, attempt: 1 }

const outcomeOf = (tool: string, reading: Reading): Outcome => completeOutcome(reading, { ...METADATA, tool })

function failure(tool: string, code: ErrorCode, text: string): Outcome {
  const { class: errorClass, retryable } = ERRORS[code]
  return {
    type: 'error', error_text: text, error: { code, class: errorClass, retryable }, metadata: { ...METADATA, tool },
  }
}

export const grantOf = (
  { requires }: Pick<ToolManifest, 'requires'>, { id, manifest: { env, secrets, stateSlot } }: CallableExtension,
  variables: Parameters<typeof compileGrant>[1],
): Power => compileGrant(requires, variables, { env, secrets, state: stateSlot === null ? [] : [id] })
