import { BulkheadError, CALL_LIMITS, EffectsLedger, type Clock } from '@bulkhead/contract'
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
  const saved = new Map<string, EffectsLedger<'sessionSavedBytes'>>()
  const ledgerOf = (sessionId: string) => {
    const ledger = saved.get(sessionId) ?? new EffectsLedger({ sessionSavedBytes })
    saved.set(sessionId, ledger)
    return ledger
  }
  return {
    async save(sessionId, callId, text) {
      ledgerOf(sessionId).add('sessionSavedBytes', Buffer.byteLength(text))
      return patiently(() => sidecar.save(sessionId, callId, text))
    },
    ...(sidecar.files ? { files: (sessionId: string) => sidecar.files!(sessionId) } : {}),
    discard(sessionId) {
      saved.delete(sessionId)
      return patiently(async () => sidecar.discard?.(sessionId))
    },
  }
}
