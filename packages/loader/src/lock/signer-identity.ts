import type { ExtensionSigner } from '@bulkhead/contract'
import { signerInWords } from '../signature/identity-pin.ts'

/**
 * Why another signer is not the accepted one, or undefined when it is the same. A build is the same by its issuer, its
 * repository and its workflow, and when both were taken from a tag, or both from a branch: each release has a ref of its own.
 * A person is the same by issuer and subject.
 */
export function findSignerChange(accepted: ExtensionSigner, actual: ExtensionSigner | null): string | undefined {
  if (actual === null) return `was signed by ${signerInWords(accepted)} and is not signed now`
  return identityOf(accepted) === identityOf(actual) ? undefined
    : `was signed by ${signerInWords(accepted)} and is signed by ${signerInWords(actual)} now`
}

const identityOf = ({ issuer, subject, repository, workflow, ref }: ExtensionSigner): string =>
  JSON.stringify(repository === null ? [issuer, subject] : [issuer, repository, workflow, kindOf(ref)])

/** `refs/tags` or `refs/heads`. */
const kindOf = (ref: string | null): string | null => ref === null ? null : ref.split('/').slice(0, 2).join('/')
