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
import { readStatement, type Statement } from './statement.ts'
import { unverified, verified, type Verification, type VerificationStep } from './verification.ts'

// The sigstore libraries take about 100 ms to import: whoever needs this file imports it late.

/** Public keys by their hint, for what is signed without a certificate. */
export type TrustedKeys = ReadonlyMap<string, PublicKey>

/** Proven: the signature is by that signer, it was logged, and the certificate was valid then. */
export interface VerifiedBundle {
  /** null: signed with one of the trusted keys. */
  readonly signer: ExtensionSigner | null
  /** null: the signature is over the artifact itself. Otherwise it is over this statement, whatever the artifact is. */
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

/** What each step would have proven. The library's own words follow. */
const FAILURES: Readonly<Partial<Record<VerificationStep, string>>> = {
  time: 'has no time of signing that can be proven',
  certificate: 'has a certificate that the trust root does not lead to',
  key: 'is signed with a key that is not trusted',
  log: 'has no entry in a trusted log that fits it',
  signature: 'has a signature over something else',
}

/** A trust root made ready. Each bundle takes about 15 ms of this thread, nearly all of it for certificates and signatures. */
export class BundleVerifier {
  readonly #verifier: Verifier

  private constructor(verifier: Verifier) {
    this.#verifier = verifier
  }

  static open(trustRoot: Json, keys: TrustedKeys = new Map()): Verification<BundleVerifier> {
    try {
      const root = TrustedRoot.fromJSON(trustRoot)
      if (root.certificateAuthorities.length === 0 || root.tlogs.length === 0) {
        return unverified('trustRoot', 'names no certificate authority or no transparency log')
      }
      // The library would take a log without a start of validity for one that was always trusted.
      if ([...root.tlogs, ...root.ctlogs].some(({ publicKey }) => publicKey?.validFor?.start === undefined)) {
        return unverified('trustRoot', 'does not say since when each of its logs is trusted')
      }
      return verified(new BundleVerifier(new Verifier(toTrustMaterial(root, keyFinder(keys)))))
    } catch (error) {
      return unverified('trustRoot', `cannot be read: ${wordsOf(error)}`)
    }
  }

  verify(json: Json, artifact: Uint8Array): Verification<VerifiedBundle> {
    try {
      const read = readBundle(json)
      if (!read.ok) return read
      const bundle = read.value
      const { identity } = this.#verifier.verify(toSignedEntity(bundle, Buffer.from(artifact)))
      const signer = identity === undefined ? null : signerOf(identity)
      if (identity !== undefined && signer === null) return unverified('certificate', 'has a certificate that names nobody')
      if (bundle.content.$case === 'messageSignature') return verified({ signer, statement: null })
      const { payloadType, payload } = bundle.content.dsseEnvelope
      const statement = readStatement(payloadType, payload)
      return statement.ok ? verified({ signer, statement: statement.value }) : statement
    } catch (error) {
      return failed(error)
    }
  }
}

/** The keys of a list `{ keys: [{ keyId, keyUsage, publicKey }] }` that may be used for this. */
export function readKeys(json: Json, usage: string): Verification<TrustedKeys> {
  try {
    const listed = isJsonObject(json) && Array.isArray(json['keys']) ? json['keys'] as readonly Json[] : []
    const usable = listed.filter(isJsonObject).filter(({ keyId, keyUsage }) => typeof keyId === 'string' && keyUsage === usage)
    if (usable.length === 0) return unverified('key', `cannot be verified: no key is listed for ${usage}`)
    return verified(new Map(usable.map(({ keyId, publicKey }) => [keyId as string, PublicKey.fromJSON(publicKey)])))
  } catch (error) {
    return unverified('key', `cannot be verified: the list of keys cannot be read: ${wordsOf(error)}`)
  }
}

function keyFinder(keys: TrustedKeys): KeyFinderFunc {
  return (hint) => {
    const key = keys.get(hint)
    if (key?.rawBytes === undefined) throw new VerificationError({ code: 'PUBLIC_KEY_ERROR', message: `key not found: ${hint}` })
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
  // Anything else was thrown by a parser.
  const fields = error instanceof ValidationError ? error.fields.join(', ') : wordsOf(error)
  return unverified('form', `is not a sigstore bundle that can be read: ${visibleText(fields)}`)
}

/** Messages of the library may quote what a stranger wrote. */
const wordsOf = (error: unknown): string => visibleText(messageOf(error).slice(0, 200))

/** Log entries, and timestamps, of one bundle. Honest ones have one or two; comparing them is quadratic. */
const MAX_WITNESSES = 8

const MEDIA_TYPES: ReadonlySet<string> = new Set([
  BUNDLE_V01_MEDIA_TYPE, BUNDLE_V02_MEDIA_TYPE, BUNDLE_V03_LEGACY_MEDIA_TYPE, BUNDLE_V03_MEDIA_TYPE,
])

/**
 * A bundle that says one thing only. The library skips what it does not know, decodes base64 leniently and goes by one of
 * two places where something is said twice, so that other bytes would verify too. Here each value is one that was read.
 * Throws what the library throws for something that is no bundle.
 */
export function readBundle(json: Json): Verification<Bundle> {
  const bundle = bundleFromJSON(json)
  if (!MEDIA_TYPES.has(bundle.mediaType)) return unverified('form', 'is of a media type that is not known')
  const extra = findUnread(json, bundleToJSON(bundle) as unknown as Json, '')?.slice(0, 200)
  if (extra !== undefined) return unverified('form', `has a value at ${visibleText(extra)} that is not part of a bundle`)
  const { tlogEntries, timestampVerificationData } = bundle.verificationMaterial
  if (Math.max(tlogEntries.length, timestampVerificationData?.rfc3161Timestamps.length ?? 0) > MAX_WITNESSES) {
    return unverified('form', `has more than ${MAX_WITNESSES} log entries or timestamps`)
  }
  if (!tlogEntries.every(hasPlainCheckpoint)) return unverified('log', 'has a log entry that does not fit its own checkpoint')
  return verified(bundle)
}

/** What an absent member means; it may be written out or left out. */
const DEFAULTS: ReadonlySet<Json> = new Set(['', '0', 0, false, null])

/** JSON Pointer of the first value that would not be written as it stands, or undefined. */
function findUnread(written: Json, read: Json | undefined, pointer: string): string | undefined {
  if (Array.isArray(written) || isJsonObject(written)) {
    const members = new Map(typeof read === 'object' && read !== null ? Object.entries<Json>(read) : [])
    for (const [step, child] of Object.entries<Json>(written)) {
      const found = findUnread(child, members.get(step), pointer + pointerStep(step))
      if (found !== undefined) return found
    }
    return undefined
  }
  // Large numbers may be written as such or as text.
  const same = read === undefined ? DEFAULTS.has(written) : String(written) === String(read)
  return same ? undefined : pointer
}

/** Lines of signatures after an empty line, and nothing else. */
const CHECKPOINT_SIGNATURES = /\n\n(?:\u2014 \S+ [A-Za-z0-9+/]+={0,2}\n)+$/

/** The library goes by the checkpoint, which is signed, and never looks at what the proof says of the same tree. */
function hasPlainCheckpoint({ inclusionProof }: TransparencyLogEntry): boolean {
  if (inclusionProof?.checkpoint === undefined) return true
  const { envelope } = inclusionProof.checkpoint
  const [, treeSize, rootHash] = envelope.split('\n', 3)
  return inclusionProof.treeSize === treeSize && inclusionProof.rootHash.toString('base64') === rootHash
    && CHECKPOINT_SIGNATURES.test(envelope)
}
