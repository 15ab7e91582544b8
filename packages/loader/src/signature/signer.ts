import type { ExtensionSigner } from '@bulkhead/contract'
import type { Signer } from '@sigstore/verify'

type CertificateIdentity = NonNullable<Signer['identity']>

/** Where Fulcio writes what the issuer said: each an ASN.1 UTF8String. */
const ISSUER = '1.3.6.1.4.1.57264.1.8'
const REPOSITORY = '1.3.6.1.4.1.57264.1.12'
const REF = '1.3.6.1.4.1.57264.1.14'

/** Who signed, from the verified certificate alone; null where it does not name both a subject and who vouches for it. */
export function signerOf(identity: CertificateIdentity): ExtensionSigner | null {
  const subject = identity.subjectAlternativeName
  // Certificates from before 2023 have the issuer in an older form, which the verifier reads.
  const issuer = textOf(identity, ISSUER) ?? identity.extensions?.issuer
  if (!subject || !issuer) return null
  const repository = textOf(identity, REPOSITORY)
  return Object.freeze({ issuer, subject, repository, workflow: workflowOf(subject, repository), ref: textOf(identity, REF) })
}

/** The subject of a build is its workflow `@` the ref that the workflow was taken from; that of a person is an address. */
function workflowOf(subject: string, repository: string | null): string | null {
  if (repository === null) return null
  const at = subject.lastIndexOf('@')
  return at < 0 ? subject : subject.slice(0, at)
}

function textOf({ oids = [] }: CertificateIdentity, wanted: string): string | null {
  const found = oids.filter(({ oid }) => oid?.id.join('.') === wanted)
  const [first] = found
  // Said twice, it is not known which one counts.
  return first === undefined || found.length > 1 ? null : readUtf8String(first.value)
}

const UTF8_STRING = 0x0c

/** Contract: null for anything but one whole UTF8String of less than 64 KiB. */
export function readUtf8String(der: Uint8Array): string | null {
  const [tag, first = 0x80, high = 0, low = 0] = der
  const long = first === 0x81 ? [3, high] as const : first === 0x82 ? [4, high * 256 + low] as const : [0, 0] as const
  const [header, length] = first < 0x80 ? [2, first] as const : long
  if (tag !== UTF8_STRING || header === 0 || der.length !== header + length) return null
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(der.subarray(header))
  } catch {
    return null
  }
}
