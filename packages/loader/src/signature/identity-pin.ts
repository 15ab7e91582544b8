import type { ConfigFile, ExtensionSigner } from '@bulkhead/contract'
import { compileGlob } from '@bulkhead/kit/glob'
import { visibleText } from '@bulkhead/kit/text'

/** Who must have signed, as the configuration says it. */
export type IdentityPin = NonNullable<NonNullable<ConfigFile['policy']>['identities']>[string]

type PinnedField = keyof IdentityPin

/**
 * Compared as they are written, whole: a pinned part that the certificate does not have is a part that differs. Only a ref
 * may have wildcards, `*` inside one segment and `**` across them. A workflow may be pinned with the ref it is taken from.
 */
const MATCHES: Readonly<Record<PinnedField, (pinned: string, signer: ExtensionSigner) => boolean>> = {
  issuer: (pinned, { issuer }) => pinned === issuer,
  repository: (pinned, { repository }) => pinned === repository,
  workflow: (pinned, { workflow, subject }) => pinned === workflow || pinned === subject,
  ref: (pinned, { ref }) => ref !== null && compileGlob(pinned, { below: false })(ref.split('/')).covers,
}
const FIELDS = Object.keys(MATCHES) as readonly PinnedField[]

/** Why this signer is not the pinned one, in words that go on after the name of the file, or undefined when it is. */
export function findPinFault(pin: IdentityPin, signer: ExtensionSigner): string | undefined {
  const pinned = FIELDS.flatMap((field) => pin[field] === undefined ? [] : [[field, pin[field]] as const])
  // What stands in for a pin that could not be read: nobody is known to fit it.
  if (pinned.length === 0) return 'cannot be compared with a pinned signer that names nothing'
  const differing = pinned.find(([field, value]) => !MATCHES[field](value, signer))
  if (differing === undefined) return undefined
  const [field, value] = differing
  const actual = field === 'workflow' ? signer.workflow ?? signer.subject : signer[field]
  return `is by ${signerInWords(signer)}: its ${field} is ${quoted(actual)}, and ${quoted(value)} is pinned`
}

/** For people: the certificate's own words, made visible. */
export const signerInWords = ({ subject, issuer }: ExtensionSigner): string =>
  `${visibleText(subject)} (vouched for by ${visibleText(issuer)})`

const quoted = (text: string | null): string => text === null ? 'not stated' : `"${visibleText(text)}"`
