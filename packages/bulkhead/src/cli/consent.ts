import { BulkheadError, type Interactor } from '@bulkhead/contract'
import type { InstallPlan } from '@bulkhead/loader'
import { terminal } from './host-options.ts'
import { UsageError } from './command.ts'

export interface ConsentOptions {
  /** Agree to a first installation. An update that needs more permissions requires `accept` or a prompt. */
  readonly yes: boolean
  /** The first characters of the digest of the reviewed package. */
  readonly accept: string | undefined
  readonly interactor: Interactor | undefined
}

const DIGEST_CHARS = 12

/** Throws UsageError if --accept is not a digest. */
export function readConsent(
  { yes, accept }: { readonly yes?: boolean | undefined; readonly accept?: string | undefined }, shownBy = '--dry-run',
): ConsentOptions {
  if (accept !== undefined && !/^[0-9a-f]{12,128}$/.test(accept)) {
    const form = `--accept takes the digest that ${shownBy} shows, at least ${DIGEST_CHARS} characters of it.`
    throw new UsageError(`"${accept}" is not a digest. ${form}`)
  }
  return { yes: yes === true, accept, interactor: terminal() }
}

/** Obtains consent for this plan. Throws UpdateRefused or ConsentRequired. */
export async function agree(
  { extension, verdict }: InstallPlan, { yes, accept, interactor }: ConsentOptions,
): Promise<void> {
  const { id, version, digests } = extension
  if (verdict.kind === 'refused') {
    throw new BulkheadError('UpdateRefused', `"${id}" ${version} is refused: ${verdict.message.replace(/^It /, 'it ')}`)
  }
  const beginning = digests.package.slice(0, DIGEST_CHARS)
  // A digest in --accept must match even if the plan needs no consent.
  if (accept !== undefined) {
    if (digests.package.startsWith(accept)) return
    throw mismatch(`"${id}" ${version}`, beginning, '--dry-run')
  }
  if (verdict.kind !== 'consent') return
  if (yes && !verdict.explicit) return
  if (interactor === undefined) {
    const how = verdict.explicit ? `--accept ${beginning}` : '--yes'
    const why = `"${id}" ${version} requires consent, and there is no terminal to ask: ${verdict.reasons.join('; ')}.`
    throw new BulkheadError('ConsentRequired', `${why} Review it, then agree with ${how}.`)
  }
  if (!await confirmed(interactor, `Accept ${id} ${version} as shown above?`)) {
    throw new BulkheadError('ConsentRequired', `"${id}" ${version} was not accepted. Nothing has changed.`)
  }
}

/** Obtains consent for the contents of a project. Throws ConsentRequired. */
export async function agreeToProject(
  { path, digest }: { readonly path: string; readonly digest: string }, once: boolean,
  { yes, accept, interactor }: ConsentOptions,
): Promise<void> {
  const beginning = digest.slice(0, DIGEST_CHARS)
  if (accept !== undefined) {
    if (digest.startsWith(accept)) return
    throw mismatch(`"${path}"`, beginning, '--status')
  }
  if (yes) return
  if (interactor === undefined) {
    const how = `Review it with --status, then agree with --accept ${beginning} or --yes.`
    throw new BulkheadError('ConsentRequired', `"${path}" was not trusted: there is no terminal to ask. ${how}`)
  }
  const period = once ? 'for the next start' : 'until it changes'
  if (!await confirmed(interactor, `Trust ${path} as shown above, ${period}?`)) {
    throw new BulkheadError('ConsentRequired', `"${path}" was not trusted. Nothing has changed.`)
  }
}

function mismatch(what: string, beginning: string, shownBy: string): BulkheadError {
  const fault = `The digest in --accept does not match ${what}, whose digest starts with ${beginning}.`
  return new BulkheadError('ConsentRequired', `${fault} Review it with ${shownBy} first.`)
}

async function confirmed(interactor: Interactor, prompt: string): Promise<boolean> {
  const request = { kind: 'Confirm', prompt } as const
  const envelope = { correlationId: 'consent', issuedAt: new Date().toISOString(), source: 'bulkhead', request }
  const answer = await interactor.interact(envelope, new AbortController().signal)
  return answer.status === 'accepted' && answer.value === true
}
