import { hash } from 'node:crypto'
import { BulkheadError, type ChangeSource, type ChangeStore } from '@bulkhead/contract'
import { isJsonObject, parseJson, type Json, type JsonObject } from '@bulkhead/kit/json'

/** A call that a tool can revert: its arguments and its result. */
export interface Effect {
  readonly args: JsonObject
  readonly result: Json
}

/** Longer arguments and results are not kept. */
const MAX_BYTES = 256 * 1024

/** Records an effect outside of files. Rejects if it is too long, or with StoreUnavailable. */
export async function recordEffect(changes: ChangeStore, source: ChangeSource, effect: Effect): Promise<void> {
  const content = Buffer.from(JSON.stringify(effect))
  if (content.length > MAX_BYTES) {
    const message = `The call "${source.callId}" of "${source.tool}" cannot be undone: its arguments and result have `
      + `${content.length} bytes, and ${MAX_BYTES} are kept.`
    throw new BulkheadError('OutputTooLarge', message)
  }
  await changes.add({ ...source, kind: 'effect', digest: hash('sha256', content) }, content)
}

/** Rejects with NotFound if it is no longer recorded. */
export async function readEffect(changes: ChangeStore, digest: string): Promise<Effect> {
  const content = await changes.content(digest)
  const parsed = content && parseJson(Buffer.from(content).toString())
  if (parsed?.ok && isJsonObject(parsed.value) && isJsonObject(parsed.value['args'])) {
    return { args: parsed.value['args'], result: parsed.value['result'] ?? null }
  }
  throw new BulkheadError('NotFound', 'The arguments and the result of the call are no longer recorded.')
}
