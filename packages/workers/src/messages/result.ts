import { BROKER_METHODS, BulkheadError, CALL_LIMITS, WORKER_LIMITS, type MeasuredUse } from '@bulkhead/contract'
import { isJsonObject, parseJson, type Json, type JsonLimits, type JsonObject } from '@bulkhead/kit/json'
import { isSignedBy, type MachineKey } from '../keys/machine-key.ts'
import { readError, wireError } from './protocol.ts'
import { purposeOf, violation, type Channel, type Inbox } from './signed-messages.ts'

/** The longest result of a call on a worker. */
const MOST_RESULT_BYTES = WORKER_LIMITS.resultBytes

const RESULT: JsonLimits = { maxDepth: 68, maxNodes: 2_000_000, maxChars: MOST_RESULT_BYTES }
const SIGNATURE_BYTES = 64

/** How a call ended on a worker. */
export type CallResult = ({ readonly value: Json } | { readonly error: BulkheadError }) & {
  /** What it used, as the worker says. Absent: nothing, or a worker of an earlier version. */
  readonly uses?: readonly RemoteUse[]
}

/** The caller knows the tool. */
export type RemoteUse = Omit<MeasuredUse, 'tool'>

/** A signed result: the signature, and the result as JSON. A result that is too long becomes an error. */
export function writeResult(result: CallResult, channel: Channel, key: MachineKey): Buffer {
  const { uses = [] } = result
  const same = { by: key.publicKey, ...(uses.length > 0 && { uses }) }
  const text = JSON.stringify('value' in result
    ? { ...same, ok: true, value: result.value } : { ...same, ok: false, error: wireError(result.error) })
  const length = SIGNATURE_BYTES + Buffer.byteLength(text)
  if (length > MOST_RESULT_BYTES && 'value' in result) {
    const message = `The result has ${length} bytes; ${MOST_RESULT_BYTES} cross from a worker. Return less.`
    return writeResult({ error: new BulkheadError('OutputTooLarge', message) }, channel, key)
  }
  // One buffer: a result can have many megabytes.
  const signed = Buffer.allocUnsafe(length)
  signed.write(text, SIGNATURE_BYTES)
  key.sign(purposeOf(channel, 'result'), signed.subarray(SIGNATURE_BYTES)).copy(signed)
  return signed
}

/** `inbox`: of the messages of the same attempt. Throws BoundaryViolation. */
export function readResult(signed: Uint8Array, channel: Channel, inbox: Inbox): CallResult {
  if (signed.length > MOST_RESULT_BYTES) throw violation('sent a result that is too long')
  const bytes = signed.subarray(SIGNATURE_BYTES)
  const parsed = parseJson(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8'), RESULT)
  const { by, ok, value, error, uses } = parsed.ok && isJsonObject(parsed.value) ? parsed.value : {}
  if (typeof by !== 'string') throw violation('sent a result that is not understood')
  inbox.requireTrust(by)
  if (!isSignedBy(by, purposeOf(channel, 'result'), bytes, signed.subarray(0, SIGNATURE_BYTES))) {
    throw violation('sent a result with a wrong signature')
  }
  const used = Array.isArray(uses) ? { uses: (uses as readonly Json[]).slice(0, CALL_LIMITS.listedUses).filter(isUse) } : {}
  if (ok === true && value !== undefined) return { value, ...used }
  if (ok === false && error !== undefined) return { error: readError(error, 'ToolExecutionFailed'), ...used }
  throw violation('sent a result that is not understood')
}

/** What is malformed is left out: it is for people, and no part of the result. */
function isUse(use: Json): use is JsonObject & RemoteUse {
  if (!isJsonObject(use) || typeof use['subject'] !== 'string' || typeof use['failed'] !== 'boolean') return false
  const amounts = [use['ms'], use['agoMs'], use['readBytes'], use['writtenBytes']]
  return PARTS.has(use['part'] ?? null) && amounts.every((amount) => typeof amount === 'number' && amount >= 0)
}

const PARTS: ReadonlySet<Json> = new Set(Object.values(BROKER_METHODS).filter((part) => part !== null))
