import type { CompartmentLimits } from '@bulkhead/contract'
import type { Json } from '@bulkhead/kit/json'
import { BROKER_METHODS } from '@bulkhead/contract'
import { isJsonObject, parseJson } from '@bulkhead/kit/json'

/** The open requests of a conversation. */
export interface OpenRequests {
  readonly questions: ReadonlySet<unknown>
  readonly requests: ReadonlySet<unknown>
  readonly limits: Pick<CompartmentLimits, 'messageBytes' | 'outstandingRequests'>
}

export type SentMessage =
  | { readonly type: 'value'; readonly id: number; readonly value: Json }
  | { readonly type: 'failure'; readonly id: number }
  | { readonly type: 'request'; readonly id: number; readonly method: string }

/**
 * The messages of a packet, if it is valid. Written from the description of the protocol, independently of the gate.
 */
export function allowed(
  packet: unknown, { questions, requests, limits }: OpenRequests,
): readonly SentMessage[] | undefined {
  const texts = textsIn(packet)
  if (texts === undefined || texts.join('').length > limits.messageBytes) return undefined
  const parsed = parseJson(texts.shift()!, { maxDepth: 72, maxNodes: 250_000, maxChars: limits.messageBytes })
  if (!parsed.ok || !Array.isArray(parsed.value)) return undefined
  const list = parsed.value as readonly Json[]
  const messages = typeof list[0] === 'number' ? [list] : list
  const sent: SentMessage[] = []
  for (const message of messages) {
    const one = readMessage(message, texts)
    if (one === undefined) return undefined
    sent.push(one)
  }
  const answers = sent.filter(({ type }) => type !== 'request').map(({ id }) => id)
  const asked = sent.filter(({ type }) => type === 'request').map(({ id }) => id)
  const proper = sent.length > 0 && texts.length === 0
    && new Set(answers).size === answers.length && answers.every((id) => questions.has(id))
    && new Set(asked).size === asked.length && !asked.some((id) => requests.has(id))
    && asked.length + requests.size <= limits.outstandingRequests
  return proper ? sent : undefined
}

function textsIn(packet: unknown): string[] | undefined {
  if (typeof packet === 'string') return [packet]
  if (!Array.isArray(packet) || packet.length === 0 || packet.length > 1_025) return undefined
  const texts = Array.from(packet as readonly unknown[])
  return texts.every((text): text is string => typeof text === 'string' && text.isWellFormed()) ? texts : undefined
}

function readMessage(message: Json, texts: string[]): SentMessage | undefined {
  if (!Array.isArray(message)) return undefined
  const [kind, id, ...rest] = message as readonly Json[]
  if (typeof id !== 'number' || !Number.isSafeInteger(id) || id < 0) return undefined
  const method = kind === 3 ? rest.shift() : undefined
  const [carried, holes, ...more] = rest
  if (carried === undefined || more.length > 0) return undefined
  const whole = holes === undefined ? { value: carried } : fill(carried, holes, texts)
  if (whole === undefined) return undefined
  const { value } = whole
  if (kind === 1) return { type: 'value', id, value }
  if (kind === 2) return isError(value, 4) ? { type: 'failure', id } : undefined
  if (kind !== 3 || typeof method !== 'string' || !Object.keys(BROKER_METHODS).includes(method)) return undefined
  return Array.isArray(value) && value.length <= 8 ? { type: 'request', id, method } : undefined
}

/** Restores long strings by their paths as pointers, in one walk over the value. */
function fill(value: Json, holes: Json, texts: string[]): { readonly value: Json } | undefined {
  if (!Array.isArray(holes) || holes.length === 0 || !holes.every((path) => Array.isArray(path))) return undefined
  if (texts.length < holes.length) return undefined
  const waiting = new Map<string, string>()
  for (const path of holes as readonly Json[][]) {
    const pointer = JSON.stringify(path.map(String))
    if (waiting.has(pointer)) return undefined
    waiting.set(pointer, texts.shift()!)
  }
  const walk = (at: Json, path: readonly string[]): Json => {
    const pointer = JSON.stringify(path)
    const text = waiting.get(pointer)
    if (at === null && text !== undefined) {
      waiting.delete(pointer)
      return text
    }
    if (Array.isArray(at)) return at.map((member: Json, index) => walk(member, [...path, String(index)]))
    if (!isJsonObject(at)) return at
    return Object.fromEntries(Object.entries(at).map(([key, member]) => [key, walk(member, [...path, key])]))
  }
  const filled = walk(value, [])
  return waiting.size === 0 ? { value: filled } : undefined
}

function isError(error: Json, deep: number): boolean {
  if (!isJsonObject(error) || deep === 0) return false
  const { name, message, code = '', stack = '', data: _data, cause, ...more } = error
  const texts = [name, message, code, stack]
  return texts.every((text) => typeof text === 'string' && text.length <= 10_000) && Object.keys(more).length === 0
    && (cause === undefined || isError(cause, deep - 1))
}
