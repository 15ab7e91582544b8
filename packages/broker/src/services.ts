import {
  BulkheadError, TOOL_NAME_PATTERN, type CompartmentServices, type InteractionOption, type InteractionRequest,
  type LogEntry, type SessionAccess, type StateAccess,
} from '@bulkhead/contract'
import { untilAborted } from '@bulkhead/kit/deadlines'
import { FIELD_NAME, readFormSchema } from '@bulkhead/kit/form'
import { isJsonObject, type Json, type JsonObject } from '@bulkhead/kit/json'
import { requireUnderCeilings, stringArgument, type Capabilities, type OpenCall } from './model/capability.ts'

const PROGRESS_CHARS = 10_000
const LEVELS: ReadonlySet<unknown> = new Set<LogEntry['level']>(['debug', 'info', 'warn', 'error'])

/** Capabilities that the services of the host answer: env, state, session, other tools, questions, progress. */
export function serviceCapabilities(services: CompartmentServices): Capabilities {
  return {
    ...envCapability(services),
    ...stateCapability(services),
    ...sessionCapability(services),
    ...toolsCapability(services),
    ...interactCapability(services),
    progress(call, args) {
      const text = stringArgument(args, 0, 'Progress', PROGRESS_CHARS)
      call.onProgress?.(text)
      return null
    },
    update(call, args) {
      call.onUpdate?.(args[0] ?? null)
      return null
    },
  }
}

/** Environment variables by declared name. There is no way to list them. */
function envCapability(services: CompartmentServices): Capabilities {
  return {
    'env.get'({ tool }, args) {
      const name = stringArgument(args, 0, 'The name of the variable', 128)
      if (!services.envDeclared.has(name)) {
        const message = `The manifest does not declare the variable ${name}. Add it to \`env\`.`
        throw new BulkheadError('EnvNameUndeclared', message, { data: { name } })
      }
      requireUnderCeilings(tool, 'env', `read the variable ${name}`, ({ env }) => env.includes(name))
      const value = services.env.get(name)
      if (value === undefined) {
        throw new BulkheadError(
          'EnvNameNotSet',
          `The variable ${name} is not set. Set it for the host.`,
          { data: { name } },
        )
      }
      return value
    },
  }
}

/** The variables that a call may read now, for `process.env`, which cannot wait for an answer. */
export function variablesOf(
  { env, envDeclared }: CompartmentServices, { grant: { ceilings = [] } }: OpenCall['tool'],
): Readonly<Record<string, string>> {
  const isReadable = (name: string): boolean => env.has(name) && ceilings.every((ceiling) => ceiling.env.includes(name))
  return Object.fromEntries([...envDeclared].filter(isReadable).map((name) => [name, env.get(name)!]))
}

/** The state slot of the extension. */
function stateCapability(services: CompartmentServices): Capabilities {
  const slot = ({ tool }: OpenCall): StateAccess => {
    requireUnderCeilings(tool, 'state', 'keep state', ({ state }) => state.length > 0)
    if (services.state !== undefined) return services.state
    throw new BulkheadError('SlotAccessDenied', 'The extension declares no stateSlot. Declare one to keep state.')
  }
  return {
    'state.read': (call) => slot(call).read(call.hostCallId ?? call.callId),
    async 'state.write'(call, args) {
      const state = slot(call)
      await call.effects?.begin('writes the state of the extension')
      await state.write(args[0] ?? null, call.hostCallId ?? call.callId)
      return null
    },
  }
}

/** Data of the extension in the session of the call. */
function sessionCapability({ session }: CompartmentServices): Capabilities {
  const access = (): SessionAccess => {
    if (session !== undefined) return session
    throw new BulkheadError('CapabilityUnavailable', 'This host does not store data for sessions.')
  }
  return {
    'session.read': async ({ callId, hostCallId }) =>
      await access().read(hostCallId ?? callId) as unknown as JsonObject,
    async 'session.write'({ callId, hostCallId, effects }, args) {
      const memory = access()
      await effects?.begin('writes what the extension keeps for the session')
      await memory.write(hostCallId ?? callId, args[0] ?? null)
      return null
    },
  }
}

/** Calls of other tools. The host checks them against what both tools may do. */
function toolsCapability(services: CompartmentServices): Capabilities {
  return {
    async 'tools.call'({ callId, hostCallId, signal, effects }, args) {
      const name = stringArgument(args, 0, 'The name of the tool', 64)
      if (!TOOL_NAME_PATTERN.test(name)) throw new BulkheadError('InputInvalid', `"${name}" is not a tool name.`)
      if (services.callTool === undefined) {
        throw new BulkheadError('CapabilityUnavailable', 'This host does not let tools call other tools.')
      }
      effects?.add('nestedCalls', 1)
      return await services.callTool(hostCallId ?? callId, name, args[1] ?? {}, signal) as unknown as JsonObject
    },
  }
}

/**
 * Log lines of an extension, up to `maxBytes` per compartment. The line that crosses the limit is replaced by a
 * warning.
 */
export function logCapability(
  services: CompartmentServices, maxBytes: number,
): (callId: string | null, args: readonly Json[]) => void {
  let left = maxBytes
  return (callId, [level, text]) => {
    if (left <= 0 || typeof text !== 'string') return
    // Plus one, so that empty lines count too.
    left -= Buffer.byteLength(text) + 1
    const line = { level: LEVELS.has(level) ? level as LogEntry['level'] : 'info', text, callId: callId ?? undefined }
    services.log(left > 0 ? line : {
      ...line,
      level: 'warn',
      text: `The extension has logged more than ${maxBytes} bytes; further lines are dropped.`,
      code: 'LogTruncated',
    })
  }
}

const PROMPT_CHARS = 10_000
const OPTIONS = 100

/** Questions to a person. A request is rebuilt from its known fields, and tools may raise only these kinds. */
function interactCapability(services: CompartmentServices): Capabilities {
  return {
    interact(call, args) {
      const { callId, hostCallId, signal } = call
      return askPerson(services, { callId: hostCallId ?? callId, signal, key: call }, args[0])
    },
  }
}

/** A tool call, or the `init` phase, which has no id. */
interface Asker {
  readonly callId: string | null
  readonly signal: AbortSignal
  /** Identifies the asker. Each has at most one open question. */
  readonly key: object
}

/** The last question of each asker. */
const pending = new WeakMap<object, Promise<unknown>>()

/**
 * One question at a time for each asker. People answer slowly; between the questions of one call, others get their
 * turn.
 */
export async function askPerson(
  services: CompartmentServices, { callId, signal, key }: Asker, given: Json | undefined,
): Promise<Json> {
  const request = readRequest(given)
  if (services.interact === undefined) {
    throw new BulkheadError(
      'InteractionUnavailable',
      'No person is available to answer. Continue with a best guess, or run with a person present.',
    )
  }
  const ask = services.interact.bind(services, callId, request, signal)
  const before = pending.get(key)
  const answer = before === undefined ? ask() : untilAborted(before, signal).then(ask)
  pending.set(key, answer.catch(() => undefined))
  return await answer as unknown as JsonObject
}

function readRequest(given: Json | undefined): InteractionRequest {
  if (!isJsonObject(given)) throw invalid('the request must be an object')
  const { kind } = given
  switch (kind) {
    case 'Ask':
    case 'Confirm':
    case 'Auth.Password':
      return { kind, prompt: stringField(given, 'prompt') }
    case 'Select':
      return {
        kind, prompt: stringField(given, 'prompt'), options: options(given['options']),
        multiple: given['multiple'] === true,
      }
    case 'Form':
      return formRequest(given)
    case 'Auth.DeviceCode':
      return {
        kind, url: stringField(given, 'url'), code: stringField(given, 'code'),
        expiresAt: stringField(given, 'expiresAt'),
      }
    default:
      throw invalid('its kind must be Ask, Select, Confirm, Form, Auth.DeviceCode or Auth.Password')
  }
}

function formRequest(given: JsonObject): InteractionRequest {
  const schema = readFormSchema(given['schema'])
  if (!schema) throw invalid('the schema of a form must be a flat object of strings, numbers, booleans and choices')
  const { name } = given
  if (name !== undefined && (typeof name !== 'string' || !FIELD_NAME.test(name))) {
    throw invalid('the name of a form must be a word of at most 64 characters')
  }
  return { kind: 'Form', prompt: stringField(given, 'prompt'), schema, ...(name === undefined ? {} : { name }) }
}

function options(given: Json | undefined): readonly InteractionOption[] {
  if (!Array.isArray(given) || given.length === 0 || given.length > OPTIONS) {
    throw invalid(`options must be a list of 1 to ${OPTIONS}`)
  }
  return given.map((option: Json) => {
    if (!isJsonObject(option)) throw invalid('each option must be an object')
    return {
      label: stringField(option, 'label'),
      ...(option['description'] !== undefined && { description: stringField(option, 'description') }),
    }
  })
}

function stringField(given: JsonObject, key: string): string {
  const value = given[key]
  if (typeof value === 'string' && value.length <= PROMPT_CHARS) return value
  throw invalid(`${key} must be a string of at most ${PROMPT_CHARS} characters`)
}

const invalid = (why: string): BulkheadError => new BulkheadError('InputInvalid', `The question is invalid: ${why}.`)
