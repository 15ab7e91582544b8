import type { ConfigFile, ExtensionSigner } from '@bulkhead/contract'
import { compileGlob } from '@bulkhead/kit/glob'
import { visibleText } from '@bulkhead/kit/text'
import type { Signer } from '@sigstore/verify'

type CertificateIdentity = NonNullable<Signer['identity']>

/** Certificate extensions of Fulcio, each an ASN.1 UTF8String. */
const ISSUER = '1.3.6.1.4.1.57264.1.8'
const REPOSITORY = '1.3.6.1.4.1.57264.1.12'
const REF = '1.3.6.1.4.1.57264.1.14'

/** The signer, from the verified certificate alone; null unless it names both a subject and an issuer. */
export function signerOf(identity: CertificateIdentity): ExtensionSigner | null {
  const subject = identity.subjectAlternativeName
  // Certificates issued before 2023 have the issuer in an older extension, which the verifier reads.
  const issuer = textOf(identity, ISSUER) ?? identity.extensions?.issuer
  if (!subject || !issuer) return null
  const repository = textOf(identity, REPOSITORY)
  return Object.freeze({
    issuer, subject, repository, workflow: workflowOf(subject, repository), ref: textOf(identity, REF),
  })
}

/** The subject of a build is `workflow@ref`; that of a person is an email address. */
function workflowOf(subject: string, repository: string | null): string | null {
  if (repository === null) return null
  const at = subject.lastIndexOf('@')
  return at < 0 ? subject : subject.slice(0, at)
}

function textOf({ oids = [] }: CertificateIdentity, wanted: string): string | null {
  const found = oids.filter(({ oid }) => oid?.id.join('.') === wanted)
  const [first] = found
  // A duplicate is ambiguous.
  return first === undefined || found.length > 1 ? null : readUtf8String(first.value)
}

const UTF8_STRING = 0x0c

/** Contract: null for anything but one complete UTF8String of less than 64 KiB. */
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

/** The signer that the configuration requires. */
export type IdentityPin = NonNullable<NonNullable<ConfigFile['policy']>['identities']>[string]

type PinnedField = keyof IdentityPin

/**
 * Values are compared exactly; a pinned field that the certificate lacks differs. Only a ref may have wildcards, `*`
 * within a segment and `**` across segments. A workflow may be pinned with its ref.
 */
const MATCHES: Readonly<Record<PinnedField, (pinned: string, signer: ExtensionSigner) => boolean>> = {
  issuer: (pinned, { issuer }) => pinned === issuer,
  repository: (pinned, { repository }) => pinned === repository,
  workflow: (pinned, { workflow, subject }) => pinned === workflow || pinned === subject,
  ref: (pinned, { ref }) => ref !== null && compileGlob(pinned, { below: false })(ref.split('/')).covers,
}
const FIELDS = Object.keys(MATCHES) as readonly PinnedField[]

/** Why this signer is not the pinned one, or undefined. Continues a sentence that starts with the name of the file. */
export function findPinFault(pin: IdentityPin, signer: ExtensionSigner): string | undefined {
  const pinned = FIELDS.flatMap((field) => pin[field] === undefined ? [] : [[field, pin[field]] as const])
  // The fallback for a pin that could not be read matches no signer.
  if (pinned.length === 0) return 'cannot be compared with a pin without fields'
  const differing = pinned.find(([field, value]) => !MATCHES[field](value, signer))
  if (differing === undefined) return undefined
  const [field, value] = differing
  const actual = field === 'workflow' ? signer.workflow ?? signer.subject : signer[field]
  return `is signed by ${signerInWords(signer)}: its ${field} is ${quoted(actual)}, and ${quoted(value)} is pinned`
}

/** Shown to people, with invisible characters escaped. */
export const signerInWords = ({ subject, issuer }: ExtensionSigner): string =>
  `${visibleText(subject)} (issuer ${visibleText(issuer)})`

const quoted = (text: string | null): string => text === null ? 'missing' : `"${visibleText(text)}"`

/**
 * Why a signer is not the accepted one, or undefined. Two builds are the same signer if issuer, repository and workflow
 * are equal and both refs are tags or both are branches, because each release has its own ref. A person is identified
 * by issuer and subject.
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
