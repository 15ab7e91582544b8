import { messageOf } from '@bulkhead/kit/error-message'
import { PoolError, WorkPool } from '@bulkhead/kit/pool'
import { unverified, type Verification } from './verification.ts'

/** What is verified, and the argument of its function. */
export interface SignatureQuestion {
  readonly kind: 'package' | 'npm' | 'conformance'
  readonly request: object
}

/** A bundle takes about 15 ms. */
const VERIFY_MS = 30_000

/** Its threads get nothing else, so that no document or schema can change a verdict. */
const signaturePool = new WorkPool<SignatureQuestion, Verification<unknown>>(
  new URL('./verify-signatures.ts', import.meta.url), { heapMb: 256, threads: 1, waiting: 20_000, tasksPerThread: 1_000 },
)

/** Rejects with PoolError if it cannot be tried now. A bundle that cannot be verified within the limits is unverified. */
export async function verifyApart<Value>(question: SignatureQuestion): Promise<Verification<Value>> {
  try {
    return await signaturePool.run(question, { deadlineMs: VERIFY_MS }) as Verification<Value>
  } catch (error) {
    if (!(error instanceof PoolError) || error.fault === 'busy' || error.fault === 'start') throw error
    return unverified('form', `could not be verified: ${messageOf(error)}`)
  }
}
