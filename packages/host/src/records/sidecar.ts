import { BulkheadError, CALL_LIMITS, type Clock } from '@bulkhead/contract'
import { settlesWithin } from '../model/bounded-wait.ts'
import type { Sidecar } from '../model/sidecar.ts'

const PATIENCE_MS = 10_000

/** The embedder's sidecar, held to settling and to a number of bytes per session: an outcome is not kept back for ever by the place for what it left out. */
export function patientSidecar(
  sidecar: Sidecar, clock: Clock, sessionSavedBytes: number = CALL_LIMITS.sessionSavedBytes,
): Sidecar & Required<Pick<Sidecar, 'discard'>> {
  const patiently = async <Value>(work: () => Promise<Value>): Promise<Value> => {
    const answer = (async () => work())()
    if (await settlesWithin(clock, PATIENCE_MS, answer)) return answer
    throw new BulkheadError('InternalError', `The sidecar did not answer within ${PATIENCE_MS} ms.`)
  }
  const saved = new Map<string, number>()
  return {
    async save(sessionId, callId, text) {
      const bytes = (saved.get(sessionId) ?? 0) + Buffer.byteLength(text)
      if (bytes > sessionSavedBytes) throw tooManyBytesSaved('sessionSavedBytes', sessionSavedBytes)
      saved.set(sessionId, bytes)
      return patiently(() => sidecar.save(sessionId, callId, text))
    },
    ...(sidecar.files ? { files: (sessionId: string) => sidecar.files!(sessionId) } : {}),
    discard(sessionId) {
      saved.delete(sessionId)
      return patiently(async () => sidecar.discard?.(sessionId))
    },
  }
}

export const tooManyBytesSaved = (limit: 'savedBytes' | 'sessionSavedBytes', most: number): BulkheadError =>
  new BulkheadError('TooManyBytesSaved', `${limit} would exceed its limit of ${most}. Do less, or raise the limit.`, { data: { limit } })
