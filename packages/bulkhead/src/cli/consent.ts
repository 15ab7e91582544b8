import { BulkheadError, type Interactor } from '@bulkhead/contract'
import type { InstallPlan } from '@bulkhead/loader'
import { terminal } from './host-options.ts'
import { UsageError } from './usage-error.ts'

export interface ConsentOptions {
  /** Yes to what has not been accepted before. What wants more than was accepted needs more than a general yes. */
  readonly yes: boolean
  /** The beginning of the digest of the package that was looked at. */
  readonly accept: string | undefined
  readonly interactor: Interactor | undefined
}

const DIGEST_CHARS = 12

/** What the command line says of it. Throws UsageError for an --accept that names no package. */
export function readConsent({ yes, accept }: { readonly yes?: boolean | undefined; readonly accept?: string | undefined }): ConsentOptions {
  if (accept !== undefined && !/^[0-9a-f]{12,128}$/.test(accept)) throw new UsageError(`--accept takes the digest that --dry-run shows, or its first ${DIGEST_CHARS} characters at least, and not "${accept}".`)
  return { yes: yes === true, accept, interactor: terminal() }
}

/** Whether somebody has agreed to this very plan. Throws UpdateRefused or ConsentRequired where nobody can or did. */
export async function agree({ extension, verdict }: InstallPlan, { yes, accept, interactor }: ConsentOptions): Promise<void> {
  const { id, version, digests } = extension
  if (verdict.kind === 'refused') throw new BulkheadError('UpdateRefused', `"${id}" ${version} is refused: ${verdict.message.replace(/^It /, 'it ')}`)
  const beginning = digests.package.slice(0, DIGEST_CHARS)
  // Whoever names one package wants no other, also where nobody would have to be asked about it.
  if (accept !== undefined) {
    if (digests.package.startsWith(accept)) return
    throw new BulkheadError('ConsentRequired', `What was accepted with --accept is not "${id}" ${version}, whose digest begins with ${beginning}. Look at it with --dry-run before you accept it.`)
  }
  if (verdict.kind !== 'consent') return
  if (yes && !verdict.explicit) return
  if (interactor === undefined) {
    const how = verdict.explicit ? `--accept ${beginning}` : '--yes'
    throw new BulkheadError('ConsentRequired', `Nobody is there to agree to "${id}" ${version}: ${verdict.reasons.join('; ')}. Whoever has looked at it can say so with ${how}.`)
  }
  const answer = await interactor.interact({
    correlationId: 'install', issuedAt: new Date().toISOString(), source: 'bulkhead',
    request: { kind: 'Confirm', prompt: `Accept ${id} ${version} as shown above?` },
  }, new AbortController().signal)
  if (answer.status !== 'accepted' || answer.value !== true) throw new BulkheadError('ConsentRequired', `"${id}" ${version} was not accepted; nothing has changed.`)
}
