import { BulkheadError, type Clock } from '@bulkhead/contract'
import { settlesWithin } from '../waiting/bounded-wait.ts'
import type { Sidecar } from '../host-context.ts'

const PATIENCE_MS = 10_000

/** The embedder's sidecar, held to settling: an outcome is not kept back for ever by the place for what it left out. */
export function patientSidecar(sidecar: Sidecar, clock: Clock): Sidecar & Required<Pick<Sidecar, 'discard'>> {
  const patiently = async <Value>(work: () => Promise<Value>): Promise<Value> => {
    const answer = (async () => work())()
    if (await settlesWithin(clock, PATIENCE_MS, answer)) return answer
    throw new BulkheadError('InternalError', `The sidecar did not answer within ${PATIENCE_MS} ms.`)
  }
  return {
    save: (sessionId, callId, text) => patiently(() => sidecar.save(sessionId, callId, text)),
    ...(sidecar.files ? { files: (sessionId: string) => sidecar.files!(sessionId) } : {}),
    discard: (sessionId) => patiently(async () => sidecar.discard?.(sessionId)),
  }
}
