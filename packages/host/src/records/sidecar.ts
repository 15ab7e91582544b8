import { BulkheadError, CALL_LIMITS, type Clock } from '@bulkhead/contract'
import { within } from '@bulkhead/kit/deadlines'

/** Where results that are too long for a model are stored whole. */
export interface Sidecar {
  /** Resolves with the path a person can open. */
  save(sessionId: string, callId: string, text: string): Promise<string>
  /** The paths of the files a session has saved. Without it no tool can open them. */
  files?(sessionId: string): ReadonlySet<string>
  /** Removes everything a closed session saved. */
  discard?(sessionId: string): Promise<void>
}

const TIMEOUT_MS = 10_000

/** The embedder's sidecar with a timeout and a limit of bytes per session, so that it cannot hold up an outcome. */
export function sidecarWithTimeout(
  sidecar: Sidecar, clock: Clock, sessionSavedBytes: number = CALL_LIMITS.sessionSavedBytes,
): Sidecar & Required<Pick<Sidecar, 'discard'>> {
  const inTime = <Value>(work: () => Promise<Value>): Promise<Value> => within({
    clock, ms: TIMEOUT_MS,
    late: () => new BulkheadError('InternalError', `The sidecar did not answer within ${TIMEOUT_MS} ms.`),
  }, work)
  const saved = new Map<string, number>()
  return {
    async save(sessionId, callId, text) {
      const bytes = (saved.get(sessionId) ?? 0) + Buffer.byteLength(text)
      if (bytes > sessionSavedBytes) throw tooManyBytesSaved('sessionSavedBytes', sessionSavedBytes)
      saved.set(sessionId, bytes)
      return inTime(() => sidecar.save(sessionId, callId, text))
    },
    ...(sidecar.files ? { files: (sessionId: string) => sidecar.files!(sessionId) } : {}),
    discard(sessionId) {
      saved.delete(sessionId)
      return inTime(async () => sidecar.discard?.(sessionId))
    },
  }
}

export const tooManyBytesSaved = (limit: 'savedBytes' | 'sessionSavedBytes', most: number): BulkheadError =>
  new BulkheadError('TooManyBytesSaved', `${limit} would exceed its limit of ${most}. Do less, or raise the limit.`, { data: { limit } })
