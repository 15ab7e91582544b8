import type { CompartmentServices, InteractionOption, InteractionRequest } from '@bulkhead/contract'
import type { Json, JsonObject } from '@bulkhead/kit/json'
import { BulkheadError } from '@bulkhead/contract'
import { untilAborted } from '@bulkhead/kit/deadlines'
import { isJsonObject } from '@bulkhead/kit/json'
import type { Capabilities } from './model/capability.ts'

const PROMPT_CHARS = 10_000
const OPTIONS = 100

/** Questions to a person, as the few kinds a tool may raise; each is rebuilt from its known fields. */
export function interactCapability(services: CompartmentServices): Capabilities {
  return {
    interact(call, args) {
      const { callId, hostCallId, signal } = call
      return askPerson(services, { callId: hostCallId ?? callId, signal, turn: call }, args[0])
    },
  }
}

/** Who asks: a tool call, or the phase `init`, which has no id. */
interface Asker {
  readonly callId: string | null
  readonly signal: AbortSignal
  /** Of those that have it in common one is asked for at a time. */
  readonly turn: object
}

/** The question before, of whoever asks. */
const turns = new WeakMap<object, Promise<unknown>>()

/**
 * One question at a time for each who asks: people answer slowly, and between the questions of one call those of others, and what
 * the host itself must know, get their turn.
 */
export async function askPerson(
  services: CompartmentServices, { callId, signal, turn }: Asker, given: Json | undefined,
): Promise<Json> {
  const request = readRequest(given)
  if (services.interact === undefined) {
    throw new BulkheadError(
      'InteractionUnavailable',
      'Nobody is there to be asked. Go on with a best guess, or run with a person present.',
    )
  }
  const ask = services.interact.bind(services, callId, request, signal)
  const before = turns.get(turn)
  const answer = before === undefined ? ask() : untilAborted(before, signal).then(ask)
  turns.set(turn, answer.catch(() => undefined))
  return await answer as unknown as JsonObject
}

function readRequest(given: Json | undefined): InteractionRequest {
  if (!isJsonObject(given)) throw invalid('the request is not an object')
  const { kind } = given
  switch (kind) {
    case 'Ask':
    case 'Confirm':
    case 'Auth.Password':
      return { kind, prompt: text(given, 'prompt') }
    case 'Select':
      return { kind, prompt: text(given, 'prompt'), options: options(given['options']), multiple: given['multiple'] === true }
    case 'Auth.DeviceCode':
      return { kind, url: text(given, 'url'), code: text(given, 'code'), expiresAt: text(given, 'expiresAt') }
    default:
      throw invalid('a tool may raise Ask, Select, Confirm, Auth.DeviceCode and Auth.Password only')
  }
}

function options(given: Json | undefined): readonly InteractionOption[] {
  if (!Array.isArray(given) || given.length === 0 || given.length > OPTIONS) {
    throw invalid(`options must be a list of 1 to ${OPTIONS}`)
  }
  return given.map((option: Json) => {
    if (!isJsonObject(option)) throw invalid('an option is not an object')
    return {
      label: text(option, 'label'),
      ...(option['description'] !== undefined && { description: text(option, 'description') }),
    }
  })
}

function text(given: JsonObject, key: string): string {
  const value = given[key]
  if (typeof value === 'string' && value.length <= PROMPT_CHARS) return value
  throw invalid(`${key} must be a text of at most ${PROMPT_CHARS} characters`)
}

const invalid = (why: string): BulkheadError => new BulkheadError('InputInvalid', `The question cannot be asked: ${why}.`)
