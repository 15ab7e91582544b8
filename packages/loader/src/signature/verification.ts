/** The step at which a verification failed. */
export type VerificationStep =
  | 'form' | 'trustRoot' | 'time' | 'certificate' | 'key' | 'log' | 'signature' | 'statement' | 'subject' | 'signer'

export interface VerificationFault {
  readonly step: VerificationStep
  /** Continues a sentence that starts with the name of the verified file: "does not …", "is …". */
  readonly message: string
}

/** Contract: a verifier never throws. Each failure is a fault with its step. */
export type Verification<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly fault: VerificationFault }

export const verified = <T>(value: T): Verification<T> => ({ ok: true, value })
export const unverified = (step: VerificationStep, message: string): Verification<never> =>
  ({ ok: false, fault: { step, message } })

const RESIGN = 'Sign bulkhead.integrity.json again, and save the bundle next to it as the signing tool wrote it.'
const OTHER_AUTHORITY = 'Check that it was signed with the sigstore instance of the trust root, and that the root is not too old.'
const OTHER_BYTES = 'The package is not the one that was signed. Get it again from its publisher. If it is your own and has changed, delete bulkhead.sigstore.json, pack, sign bulkhead.integrity.json, and pack again.'

/** The cure for each step. */
export const CURES: Readonly<Record<VerificationStep, string>> = {
  form: RESIGN,
  trustRoot: 'Correct the configured trust root, or remove it to use the public one.',
  time: OTHER_AUTHORITY,
  certificate: OTHER_AUTHORITY,
  key: 'Sign with a certificate. A key alone does not identify the signer.',
  log: OTHER_AUTHORITY,
  signature: OTHER_BYTES,
  statement: RESIGN,
  subject: OTHER_BYTES,
  signer: 'Check who published the package. Pin the new identity only if you trust it.',
}
