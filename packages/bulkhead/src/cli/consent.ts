import { BulkheadError, type Interactor } from '@bulkhead/contract'
import type { InstallPlan } from '@bulkhead/loader'
import { terminal } from './host-options.ts'
import type { ProjectContents } from './project-contents.ts'
import { UsageError } from './command.ts'

export interface ConsentOptions {
  /** Yes to what has not been accepted before. What wants more than was accepted needs more than a general yes. */
  readonly yes: boolean
  /** The beginning of the digest of the package that was looked at. */
  readonly accept: string | undefined
  readonly interactor: Interactor | undefined
}

const DIGEST_CHARS = 12

/** What the command line says of it. Throws UsageError for an --accept that names no package. */
export function readConsent(
  { yes, accept }: { readonly yes?: boolean | undefined; readonly accept?: string | undefined }, shownBy = '--dry-run',
): ConsentOptions {
  if (accept !== undefined && !/^[0-9a-f]{12,128}$/.test(accept)) throw new UsageError(`--accept takes the digest that ${shownBy} shows, or its first ${DIGEST_CHARS} characters at least, and not "${accept}".`)
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
    throw new BulkheadError('ConsentRequired', `"${id}" ${version} needs consent, and there is no terminal to ask: ${verdict.reasons.join('; ')}. After a review, agree with ${how}.`)
  }
  if (!await confirmed(interactor, `Accept ${id} ${version} as shown above?`)) throw new BulkheadError('ConsentRequired', `"${id}" ${version} was not accepted; nothing has changed.`)
}

/** The same for what a project brings. Throws ConsentRequired. */
export async function agreeToProject(
  { path, digest }: Pick<ProjectContents, 'path' | 'digest'>, once: boolean, { yes, accept, interactor }: ConsentOptions,
): Promise<void> {
  const beginning = digest.slice(0, DIGEST_CHARS)
  if (accept !== undefined) {
    if (digest.startsWith(accept)) return
    throw new BulkheadError('ConsentRequired', `"${path}" is not what was accepted with --accept: its digest begins with ${beginning}. Look at it with --status before you accept it.`)
  }
  if (yes) return
  if (interactor === undefined) {
    throw new BulkheadError('ConsentRequired', `"${path}" was not trusted: there is no terminal to ask at. Look at what it brings with --status, then agree with --accept ${beginning} or --yes.`)
  }
  if (!await confirmed(interactor, `Trust ${path} as shown above, ${once ? 'for the next start' : 'until it changes'}?`)) {
    throw new BulkheadError('ConsentRequired', `"${path}" was not trusted; nothing has changed.`)
  }
}

async function confirmed(interactor: Interactor, prompt: string): Promise<boolean> {
  const envelope = { correlationId: 'consent', issuedAt: new Date().toISOString(), source: 'bulkhead', request: { kind: 'Confirm', prompt } } as const
  const answer = await interactor.interact(envelope, new AbortController().signal)
  return answer.status === 'accepted' && answer.value === true
}
