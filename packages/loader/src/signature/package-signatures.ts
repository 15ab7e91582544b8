import { hash } from 'node:crypto'
import type { ExtensionSigner } from '@bulkhead/contract'
import type { Json } from '@bulkhead/kit/json'
import { sha512 } from '../model/digest.ts'
import { parseStrictJson } from '../files/strict-json.ts'
import type { BundleVerifier } from './sigstore.ts'
import { isAbout, PROVENANCE_V1 } from './statement.ts'
import { materialInWords, type TrustMaterial } from './trust-material.ts'
import { unverified, verified, type Verification, type VerificationStep } from './verification.ts'

/** Steps at which a root that is too old, or of somebody else, may be the reason. */
const ROOT_MATTERS: ReadonlySet<VerificationStep> = new Set(['trustRoot', 'time', 'certificate', 'log'])

/** Signatures that are remembered; beyond that all are forgotten and proven again. */
const MAX_KNOWN = 10_000

/**
 * Verifies the bundles that packages carry. What is signed is the integrity file, byte for byte, which names the root digest
 * and with it every file: `cosign sign-blob` and build attestations sign it as they sign any file.
 * The libraries are loaded with the first bundle, so that who has none does not pay for them. What has verified once does so
 * for ever, since only the time of signing counts: the same bytes are not verified again.
 */
export class PackageSignatures {
  readonly #root: TrustMaterial
  #opened: Verification<BundleVerifier> | undefined
  readonly #known = new Map<string, Verification<ExtensionSigner>>()

  constructor(root: TrustMaterial) {
    this.#root = root
  }

  /** Contract: never rejects for what it is shown. */
  async verify(bundle: Uint8Array, integrityFile: Uint8Array): Promise<Verification<ExtensionSigner>> {
    const key = sha512(bundle) + sha512(integrityFile)
    const known = this.#known.get(key)
    if (known !== undefined) return known
    const result = await this.#prove(bundle, integrityFile)
    if (this.#known.size >= MAX_KNOWN) this.#known.clear()
    if (result.ok) this.#known.set(key, result)
    return result
  }

  async #prove(bundle: Uint8Array, integrityFile: Uint8Array): Promise<Verification<ExtensionSigner>> {
    const parsed = parseStrictJson(bundle)
    if (!parsed.ok) return unverified('form', parsed.message)
    const sigstore = await import('./sigstore.ts')
    this.#opened ??= sigstore.BundleVerifier.open(this.#root.json)
    const result = this.#opened.ok ? verifyOver(this.#opened.value, parsed.value, integrityFile) : this.#opened
    if (result.ok || !ROOT_MATTERS.has(result.fault.step)) return result
    const { step, message } = result.fault
    const root = `the trust root (${materialInWords(this.#root)})`
    return unverified(step, step === 'trustRoot' ? `cannot be verified: ${root} ${message}` : `${message}; compared with ${root}`)
  }
}

function verifyOver(verifier: BundleVerifier, bundle: Json, integrityFile: Uint8Array): Verification<ExtensionSigner> {
  const result = verifier.verify(bundle, integrityFile)
  if (!result.ok) return result
  const { signer, statement } = result.value
  if (signer === null) return unverified('key', 'is signed without a certificate')
  if (statement === null) return verified(signer)
  // Anything can be stated of a file, also that it is harmful. Only this says: we made it.
  if (statement.predicateType !== PROVENANCE_V1) return unverified('statement', `does not state provenance (${PROVENANCE_V1})`)
  const digests = new Map([['sha512', sha512(integrityFile)], ['sha256', hash('sha256', integrityFile, 'hex')]])
  return isAbout(statement, digests) ? verified(signer) : unverified('subject', 'states the provenance of something else')
}
