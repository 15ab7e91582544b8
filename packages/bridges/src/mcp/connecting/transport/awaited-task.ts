import { setTimeout as pause } from 'node:timers/promises'
import { untilAborted } from '@bulkhead/kit/deadlines'
import { isJsonObject, type Json, type JsonObject } from '@bulkhead/kit/json'
import { type Client, isSpecType, ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/client'
import { LONGEST_MS } from './lists.ts'
import { readableResult, TASK } from './readable-result.ts'

export const TASKS_EXTENSION = 'io.modelcontextprotocol/tasks'

const POLL_MS = { default: 1_000, least: 100, most: 30_000 } as const

/** Answers a request that a server embeds in a response. Resolves with undefined if it is of another kind. */
export type AnswerInput = (method: string, params: JsonObject, signal: AbortSignal) => Promise<Json | undefined>

/** The SDK has no types for the extension. */
const ANY = {
  '~standard': { version: 1, vendor: 'bulkhead', validate: (value: unknown) => ({ value }) },
} as const

/**
 * The result of a call: as it is or, if the server made a task of the call (2026-07-28), that of the task. A call that
 * ends earlier cancels its task. Rejects with ProtocolError if the task failed or was cancelled.
 */
export async function resultOfCall(
  client: Client, result: unknown, signal: AbortSignal, answer: AnswerInput,
): Promise<unknown> {
  const made = isJsonObject(result as Json) ? (result as JsonObject)[TASK] : undefined
  if (!isJsonObject(made)) return result
  const { taskId, pollIntervalMs } = made
  const send = (method: string, params: JsonObject, until?: AbortSignal) => client.request(
    { method, params: { taskId, ...params } } as never, ANY, { timeout: LONGEST_MS, ...(until && { signal: until }) },
  ) as Promise<JsonObject>
  try {
    return await followTask(send, pollMs(pollIntervalMs), signal, answer)
  } catch (error) {
    send('tasks/cancel', {}).catch(() => {})
    throw error
  }
}

type Send = (method: string, params: JsonObject, until?: AbortSignal) => Promise<JsonObject>

async function followTask(send: Send, first: number, signal: AbortSignal, answer: AnswerInput): Promise<unknown> {
  const answered = new Set<string>()
  for (let ms = first; ;) {
    await pause(ms, undefined, { signal })
    const task = await send('tasks/get', {}, signal)
    const { status, result, error, inputRequests, pollIntervalMs } = task
    if (status === 'completed') return completed(result)
    if (status === 'failed' || status === 'cancelled') throw failed(status, error)
    for (const [key, request] of Object.entries(isJsonObject(inputRequests) ? inputRequests : {})) {
      if (answered.has(key) || !isJsonObject(request)) continue
      answered.add(key)
      const { method, params } = request
      const given = answer(String(method), isJsonObject(params) ? params : {}, signal)
      const reply = await untilAborted(given, signal)
      if (reply !== undefined) await send('tasks/update', { inputResponses: { [key]: reply } }, signal)
    }
    ms = pollMs(pollIntervalMs ?? ms)
  }
}

const pollMs = (given: Json | undefined): number =>
  typeof given === 'number' ? Math.min(Math.max(given, POLL_MS.least), POLL_MS.most) : POLL_MS.default

function completed(result: Json | undefined): unknown {
  const message = { jsonrpc: '2.0', id: 0, result: isJsonObject(result) ? result : {} } as const
  const { result: readable } = readableResult(message as never) as { readonly result: unknown }
  if (isSpecType.CallToolResult(readable)) return readable
  throw new ProtocolError(ProtocolErrorCode.InternalError, 'The server completed a task without a valid result.')
}

function failed(status: string, error: Json | undefined): ProtocolError {
  const { code, message } = isJsonObject(error) ? error : {}
  return new ProtocolError(
    typeof code === 'number' ? code : ProtocolErrorCode.InternalError,
    typeof message === 'string' ? message : `The server reports that the task of this call was ${status}.`,
  )
}
