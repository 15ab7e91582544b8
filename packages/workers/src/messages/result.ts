import { BulkheadError, WORKER_LIMITS } from '@bulkhead/contract'
import { isJsonObject, parseJson, type Json, type JsonLimits } from '@bulkhead/kit/json'
import { isSignedBy, type MachineKey } from '../keys/machine-key.ts'
import { readError, wireError } from './protocol.ts'
import { purposeOf, violation, type Channel, type Inbox } from './signed-messages.ts'

/** The longest result of a call on a worker. */
const MOST_RESULT_BYTES = WORKER_LIMITS.resultBytes

const RESULT: JsonLimits = { maxDepth: 68, maxNodes: 2_000_000, maxChars: MOST_RESULT_BYTES }
const SIGNATURE_BYTES = 64

/** How a call ended on a worker. */
export type CallResult = { readonly value: Json } | { readonly error: BulkheadError }

/** A signed result: the signature, and the result as JSON. A result that is too long becomes an error. */
export function writeResult(result: CallResult, channel: Channel, key: MachineKey): Buffer {
  const text = JSON.stringify('value' in result
    ? { by: key.publicKey, ok: true, value: result.value } : { by: key.publicKey, ok: false, error: wireError(result.error) })
  const bytes = Buffer.from(text)
  if (bytes.length + SIGNATURE_BYTES > MOST_RESULT_BYTES && 'value' in result) {
    const message = `The result has ${bytes.length} bytes; ${MOST_RESULT_BYTES} cross from a worker. Return less.`
    return writeResult({ error: new BulkheadError('OutputTooLarge', message) }, channel, key)
  }
  return Buffer.concat([key.sign(purposeOf(channel, 'result'), bytes), bytes])
}

/** `inbox`: of the messages of the same attempt. Throws BoundaryViolation. */
export function readResult(signed: Uint8Array, channel: Channel, inbox: Inbox): CallResult {
  if (signed.length > MOST_RESULT_BYTES) throw violation('sent a result that is too long')
  const bytes = signed.subarray(SIGNATURE_BYTES)
  const parsed = parseJson(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8'), RESULT)
  const { by, ok, value, error } = parsed.ok && isJsonObject(parsed.value) ? parsed.value : {}
  if (typeof by !== 'string') throw violation('sent a result that is not understood')
  inbox.requireTrust(by)
  if (!isSignedBy(by, purposeOf(channel, 'result'), bytes, signed.subarray(0, SIGNATURE_BYTES))) {
    throw violation('sent a result with a wrong signature')
  }
  if (ok === true && value !== undefined) return { value }
  if (ok === false && error !== undefined) return { error: readError(error, 'ToolExecutionFailed') }
  throw violation('sent a result that is not understood')
}
