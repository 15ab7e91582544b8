import { BulkheadError, type Interactor } from '@bulkhead/contract'
import type { InstallPlan } from '@bulkhead/loader'

export interface ConsentOptions {
  /** Yes to what has not been accepted before. What wants more than was accepted needs more than a general yes. */
  readonly yes: boolean
  /** The beginning of the digest of the package that was looked at. */
  readonly accept: string | undefined
  readonly interactor: Interactor | undefined
}

const DIGEST_CHARS = 12

/** Throws ConsentRequired for a package of another digest. */
export function requireAccepted({ digests }: InstallPlan['extension'], accept: string): void {
  if (accept.length >= DIGEST_CHARS && digests.package.startsWith(accept)) return
  throw new BulkheadError('ConsentRequired', `What was accepted with --accept is not this package, whose digest begins with ${digests.package.slice(0, DIGEST_CHARS)}.`)
}

/** Whether somebody has agreed to this very plan. Throws UpdateRefused or ConsentRequired where nobody can or did. */
export async function agree({ extension, verdict }: InstallPlan, { yes, accept, interactor }: ConsentOptions): Promise<void> {
  const { id, version, digests } = extension
  if (verdict.kind === 'refused') throw new BulkheadError('UpdateRefused', `"${id}" ${version} is refused: ${verdict.message.replace(/^It /, 'it ')}`)
  if (verdict.kind !== 'consent') return
  if (accept !== undefined) return requireAccepted(extension, accept)
  if (yes && !verdict.explicit) return
  if (interactor === undefined) {
    const how = verdict.explicit ? `--accept ${digests.package.slice(0, DIGEST_CHARS)}` : '--yes'
    throw new BulkheadError('ConsentRequired', `Nobody is there to agree to "${id}" ${version}: ${verdict.reasons.join('; ')}. Whoever has looked at it can say so with ${how}.`)
  }
  const answer = await interactor.interact({
    correlationId: 'install', issuedAt: new Date().toISOString(), source: 'bulkhead',
    request: { kind: 'Confirm', prompt: `Accept ${id} ${version} as shown above?` },
  }, new AbortController().signal)
  if (answer.status !== 'accepted' || answer.value !== true) throw new BulkheadError('ConsentRequired', `"${id}" ${version} was not accepted; nothing has changed.`)
}
