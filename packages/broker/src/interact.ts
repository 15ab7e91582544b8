import type { CompartmentServices, InteractionOption, InteractionRequest } from '@bulkhead/contract'
import type { Json, JsonObject } from '@bulkhead/kit/json'
import { BulkheadError } from '@bulkhead/contract'
import { untilAborted } from '@bulkhead/kit/deadlines'
import { isJsonObject } from '@bulkhead/kit/json'
import type { Capabilities } from './model/capability.ts'

const PROMPT_CHARS = 10_000
const OPTIONS = 100

/** Questions to a person. A request is rebuilt from its known fields, and tools may raise only these kinds. */
export function interactCapability(services: CompartmentServices): Capabilities {
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
      return { kind, prompt: text(given, 'prompt') }
    case 'Select':
      return {
        kind, prompt: text(given, 'prompt'), options: options(given['options']), multiple: given['multiple'] === true,
      }
    case 'Auth.DeviceCode':
      return { kind, url: text(given, 'url'), code: text(given, 'code'), expiresAt: text(given, 'expiresAt') }
    default:
      throw invalid('its kind must be Ask, Select, Confirm, Auth.DeviceCode or Auth.Password')
  }
}

function options(given: Json | undefined): readonly InteractionOption[] {
  if (!Array.isArray(given) || given.length === 0 || given.length > OPTIONS) {
    throw invalid(`options must be a list of 1 to ${OPTIONS}`)
  }
  return given.map((option: Json) => {
    if (!isJsonObject(option)) throw invalid('each option must be an object')
    return {
      label: text(option, 'label'),
      ...(option['description'] !== undefined && { description: text(option, 'description') }),
    }
  })
}

function text(given: JsonObject, key: string): string {
  const value = given[key]
  if (typeof value === 'string' && value.length <= PROMPT_CHARS) return value
  throw invalid(`${key} must be a string of at most ${PROMPT_CHARS} characters`)
}

const invalid = (why: string): BulkheadError => new BulkheadError('InputInvalid', `The question is invalid: ${why}.`)
