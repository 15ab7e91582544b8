import { isJsonObject, parseJson, type Json, type JsonObject, type Outcome } from '@bulkhead/contract'
import { noteOfCut, textOfContent, textOfData } from '@bulkhead/contract/dialects'

/** One call of a model, as OpenAI-shaped chat APIs send it. */
export interface ModelToolCall {
  readonly id: string
  readonly type: 'function'
  readonly function: { readonly name: string; readonly arguments: string }
}

export interface ModelToolMessage {
  readonly role: 'tool'
  readonly tool_call_id: string
  readonly content: string
}

/**
 * Arguments that are not a JSON object are passed on as they are, so that the host refuses them with its own message.
 * `strict` undoes what a strict tool does to optional arguments: a null stands for one that was left out.
 */
export function fromToolCall(call: ModelToolCall, options: { readonly strict?: boolean } = {}): HostCall {
  const text = call.function.arguments
  const parsed = parseJson(text === '' ? '{}' : text)
  const args = parsed.ok ? parsed.value : text
  return { id: call.id, name: call.function.name, arguments: options.strict && isJsonObject(args) ? withoutNulls(args) : args }
}

export interface HostCall {
  readonly id: string
  readonly name: string
  readonly arguments: Json
}

export function toToolMessage(outcome: Outcome): ModelToolMessage {
  const note = noteOfCut(outcome.metadata)
  const content = contentOf(outcome)
  return { role: 'tool', tool_call_id: outcome.metadata.call_id, content: note === undefined ? content : `${content}\n${note}` }
}

const contentOf = (outcome: Outcome): string =>
  outcome.type === 'error' ? outcome.error_text : textOfContent(outcome.content ?? []) ?? textOfData(outcome.data)

const withoutNulls = (args: JsonObject): Json =>
  Object.fromEntries(Object.entries(args).filter(([, value]) => value !== null))
