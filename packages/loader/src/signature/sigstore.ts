import { createPublicKey } from 'node:crypto'
import type { ExtensionSigner } from '@bulkhead/contract'
import { messageOf } from '@bulkhead/kit/error-message'
import { isJsonObject, pointerStep, type Json } from '@bulkhead/kit/json'
import { visibleText } from '@bulkhead/kit/text'
import {
  BUNDLE_V01_MEDIA_TYPE, BUNDLE_V02_MEDIA_TYPE, BUNDLE_V03_LEGACY_MEDIA_TYPE, BUNDLE_V03_MEDIA_TYPE, bundleFromJSON,
  bundleToJSON, ValidationError, type Bundle, type TransparencyLogEntry,
} from '@sigstore/bundle'
import { PublicKey, TrustedRoot } from '@sigstore/protobuf-specs'
import { toSignedEntity, toTrustMaterial, VerificationError, Verifier, type KeyFinderFunc } from '@sigstore/verify'
import { signerOf } from './signer.ts'
import {
  readStatement, unverified, verified, type Statement, type Verification, type VerificationStep,
} from './verification.ts'

// Import this file dynamically: the sigstore libraries take about 100 ms to load.

/** Public keys by hint, for signatures without a certificate. */
export type TrustedKeys = ReadonlyMap<string, Pick<PublicKey, 'rawBytes' | 'validFor'>>

/** The signature is by this signer, it was logged, and the certificate was valid at that time. */
export interface VerifiedBundle {
  /** null if signed with one of the trusted keys. */
  readonly signer: ExtensionSigner | null
  /**
   * null if the signature is over the artifact. Otherwise it is over this statement, and the artifact is not checked.
   */
  readonly statement: Statement | null
}

const STEPS: Readonly<Record<VerificationError['code'], VerificationStep>> = {
  NOT_IMPLEMENTED_ERROR: 'form',
  TLOG_ERROR: 'log',
  TLOG_INCLUSION_PROOF_ERROR: 'log',
  TLOG_INCLUSION_PROMISE_ERROR: 'log',
  TLOG_MISSING_INCLUSION_ERROR: 'log',
  TLOG_BODY_ERROR: 'log',
  CERTIFICATE_ERROR: 'certificate',
  PUBLIC_KEY_ERROR: 'key',
  SIGNATURE_ERROR: 'signature',
  TIMESTAMP_ERROR: 'time',
}

/** Followed by the message of the library. */
const FAILURES: Readonly<Partial<Record<VerificationStep, string>>> = {
  time: 'has no verifiable time of signing',
  certificate: 'has a certificate that the trust root does not cover',
  key: 'is signed with a key that is not trusted',
  log: 'has no matching entry in a trusted log',
  signature: 'has a signature over other bytes',
}

/** Verifies bundles against one trust root. A bundle takes about 15 ms of CPU time. */
export class BundleVerifier {
  readonly #verifier: Verifier
  /** For signatures with one of the keys. */
  readonly #keyVerifier: Verifier

  private constructor(verifier: Verifier, keyVerifier: Verifier) {
    this.#verifier = verifier
    this.#keyVerifier = keyVerifier
  }

  /** `unloggedKeys`: a signature with one of the keys counts also without an entry in a log. */
  static open(
    trustRoot: Json, keys: TrustedKeys = new Map(), { unloggedKeys = false } = {},
  ): Verification<BundleVerifier> {
    try {
      const root = TrustedRoot.fromJSON(trustRoot)
      if (root.certificateAuthorities.length === 0 || root.tlogs.length === 0) {
        return unverified('trustRoot', 'names no certificate authority or no transparency log')
      }
      // The library treats a log without a start of validity as always trusted.
      if ([...root.tlogs, ...root.ctlogs].some(({ publicKey }) => publicKey?.validFor?.start === undefined)) {
        return unverified('trustRoot', 'has a log without a start of validity')
      }
      const material = toTrustMaterial(root, keyFinder(keys))
      const thresholds = unloggedKeys ? { tlogThreshold: 0, timestampThreshold: 0 } : {}
      return verified(new BundleVerifier(new Verifier(material), new Verifier(material, thresholds)))
    } catch (error) {
      return unverified('trustRoot', `cannot be read: ${wordsOf(error)}`)
    }
  }

  verify(json: Json, artifact: Uint8Array): Verification<VerifiedBundle> {
    try {
      const read = readBundle(json)
      if (!read.ok) return read
      const bundle = read.value
      // A certificate is valid for minutes, so without a time it proves nothing.
      const isByKey = bundle.verificationMaterial.content.$case === 'publicKey'
      const { identity } = (isByKey ? this.#keyVerifier : this.#verifier)
        .verify(toSignedEntity(bundle, Buffer.from(artifact)))
      const signer = identity === undefined ? null : signerOf(identity)
      if (identity !== undefined && signer === null) {
        return unverified('certificate', 'has a certificate without a subject or an issuer')
      }
      if (bundle.content.$case === 'messageSignature') return verified({ signer, statement: null })
      const { payloadType, payload } = bundle.content.dsseEnvelope
      const statement = readStatement(payloadType, payload)
      return statement.ok ? verified({ signer, statement: statement.value }) : statement
    } catch (error) {
      return failed(error)
    }
  }
}

/** What a bundle states, whoever signed it. Nothing is verified. */
export function readUnverified(json: Json): Verification<Statement> {
  try {
    const read = readBundle(json)
    if (!read.ok) return read
    const { content } = read.value
    if (content.$case === 'messageSignature') return unverified('statement', 'holds no statement')
    return readStatement(content.dsseEnvelope.payloadType, content.dsseEnvelope.payload)
  } catch (error) {
    return failed(error)
  }
}

/** The keys of a list `{ keys: [{ keyId, keyUsage, publicKey }] }` with this usage. */
export function readKeys(json: Json, usage: string): Verification<TrustedKeys> {
  try {
    const listed = isJsonObject(json) && Array.isArray(json['keys']) ? json['keys'] as readonly Json[] : []
    const usable = listed.filter(isJsonObject)
      .filter(({ keyId, keyUsage }) => typeof keyId === 'string' && keyUsage === usage)
    if (usable.length === 0) return unverified('key', `cannot be verified: no key is listed for ${usage}`)
    return verified(new Map(usable.map(({ keyId, publicKey }) => [keyId as string, PublicKey.fromJSON(publicKey)])))
  } catch (error) {
    return unverified('key', `cannot be verified: the list of keys cannot be read: ${wordsOf(error)}`)
  }
}

function keyFinder(keys: TrustedKeys): KeyFinderFunc {
  return (hint) => {
    const key = keys.get(hint)
    if (key?.rawBytes === undefined) {
      throw new VerificationError({ code: 'PUBLIC_KEY_ERROR', message: `key not found: ${hint}` })
    }
    const { start, end } = key.validFor ?? {}
    return {
      publicKey: createPublicKey({ key: key.rawBytes, format: 'der', type: 'spki' }),
      validFor: (date) => (start === undefined || start <= date) && (end === undefined || date <= end),
    }
  }
}

function failed(error: unknown): Verification<never> {
  if (error instanceof VerificationError) {
    const step = STEPS[error.code]
    return unverified(step, `${FAILURES[step] ?? 'is not supported'} (${wordsOf(error)})`)
  }
  // Other errors come from a parser.
  const fields = error instanceof ValidationError ? error.fields.join(', ') : wordsOf(error)
  return unverified('form', `is not a sigstore bundle: ${visibleText(fields)}`)
}

/** Messages of the library may quote untrusted text. */
const wordsOf = (error: unknown): string => visibleText(messageOf(error).slice(0, 200))

/**
 * The most log entries, and timestamps, in a bundle. Usual bundles have one or two, and comparing them is quadratic.
 */
const MAX_WITNESSES = 8

const MEDIA_TYPES: ReadonlySet<string> = new Set([
  BUNDLE_V01_MEDIA_TYPE, BUNDLE_V02_MEDIA_TYPE, BUNDLE_V03_LEGACY_MEDIA_TYPE, BUNDLE_V03_MEDIA_TYPE,
])

/**
 * Parses a bundle strictly. The library ignores unknown members, decodes base64 leniently, and reads only one of two
 * places that repeat a value, so different bytes could verify. Here each value must be one that the library reads.
 * Throws what the library throws.
 */
function readBundle(json: Json): Verification<Bundle> {
  const bundle = bundleFromJSON(json)
  if (!MEDIA_TYPES.has(bundle.mediaType)) return unverified('form', 'has an unknown media type')
  const extra = findUnread(json, bundleToJSON(bundle) as unknown as Json, '')?.slice(0, 200)
  if (extra !== undefined) {
    return unverified('form', `has a value at ${visibleText(extra)} that is not part of a bundle`)
  }
  const { tlogEntries, timestampVerificationData } = bundle.verificationMaterial
  if (Math.max(tlogEntries.length, timestampVerificationData?.rfc3161Timestamps.length ?? 0) > MAX_WITNESSES) {
    return unverified('form', `has more than ${MAX_WITNESSES} log entries or timestamps`)
  }
  if (!tlogEntries.every(hasPlainCheckpoint)) {
    return unverified('log', 'has a log entry that does not match its checkpoint')
  }
  return verified(bundle)
}

/** Defaults, which may be present or omitted. */
const DEFAULTS: ReadonlySet<Json> = new Set(['', '0', 0, false, null])

/** JSON Pointer of the first value that does not survive a round trip, or undefined. */
function findUnread(written: Json, read: Json | undefined, pointer: string): string | undefined {
  if (Array.isArray(written) || isJsonObject(written)) {
    const members = new Map(typeof read === 'object' && read !== null ? Object.entries<Json>(read) : [])
    for (const [step, child] of Object.entries<Json>(written)) {
      const found = findUnread(child, members.get(step), pointer + pointerStep(step))
      if (found !== undefined) return found
    }
    return undefined
  }
  // A large number may be a JSON number or a string.
  const same = read === undefined ? DEFAULTS.has(written) : String(written) === String(read)
  return same ? undefined : pointer
}

/** Signature lines after an empty line, and nothing else. */
const CHECKPOINT_SIGNATURES = /\n\n(?:\u2014 \S+ [A-Za-z0-9+/]+={0,2}\n)+$/

/** The library uses the signed checkpoint and ignores the same values in the inclusion proof. */
function hasPlainCheckpoint({ inclusionProof }: TransparencyLogEntry): boolean {
  if (inclusionProof?.checkpoint === undefined) return true
  const { envelope } = inclusionProof.checkpoint
  const [, treeSize, rootHash] = envelope.split('\n', 3)
  return inclusionProof.treeSize === treeSize && inclusionProof.rootHash.toString('base64') === rootHash
    && CHECKPOINT_SIGNATURES.test(envelope)
}
