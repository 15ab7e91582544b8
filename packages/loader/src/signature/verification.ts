/** At which step a signature failed. */
export type VerificationStep =
  | 'form' | 'trustRoot' | 'time' | 'certificate' | 'key' | 'log' | 'signature' | 'statement' | 'subject' | 'signer'

export interface VerificationFault {
  readonly step: VerificationStep
  /** Goes on after the name of what was verified: "does not …", "is …". */
  readonly message: string
}

/** Contract: what verifies never throws; whatever is wrong is a fault with its step. */
export type Verification<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly fault: VerificationFault }

export const verified = <T>(value: T): Verification<T> => ({ ok: true, value })
export const unverified = (step: VerificationStep, message: string): Verification<never> =>
  ({ ok: false, fault: { step, message } })

const RESIGN = 'Sign bulkhead.integrity.json again, and put the bundle beside it as the signing tool wrote it.'
const OTHER_AUTHORITY = 'Check that it was signed with the sigstore instance of the trust root, and that the root is not too old.'
const OTHER_BYTES = 'Get the package again from its publisher: what was signed is not what is here. If it is yours and has changed since, take away bulkhead.sigstore.json, pack, sign bulkhead.integrity.json, and pack again.'

/** What helps, by the step that failed. */
export const CURES: Readonly<Record<VerificationStep, string>> = {
  form: RESIGN,
  trustRoot: 'Correct the trust root that the host is given, or leave it out for the public one.',
  time: OTHER_AUTHORITY,
  certificate: OTHER_AUTHORITY,
  key: 'Sign with a certificate that names who signs; keys alone are nobody.',
  log: OTHER_AUTHORITY,
  signature: OTHER_BYTES,
  statement: RESIGN,
  subject: OTHER_BYTES,
  signer: 'Check who published the package; pin the new identity only if you know it.',
}
