import { hash } from 'node:crypto'
import type { ExtensionSigner, TrustRootReport } from '@bulkhead/contract'
import type { Json } from '@bulkhead/kit/json'
import { parseStrictJson } from '../files/json-file.ts'
import { sha512 } from '../model/digest.ts'
import { verifyApart } from './signature-pool.ts'
import type { BundleVerifier } from './sigstore.ts'
import {
  isAbout, PROVENANCE_V1, unverified, verified, type Verification, type VerificationStep,
} from './verification.ts'

/** Steps that may fail because the trust root is too old or belongs to another instance. */
const ROOT_MATTERS: ReadonlySet<VerificationStep> = new Set(['trustRoot', 'time', 'certificate', 'log'])

/** The size of the cache of verified signatures. It is cleared when full. */
const MAX_KNOWN = 10_000

/**
 * Verifies the signature bundles of packages. A bundle signs the bytes of the integrity file, which holds the root
 * digest and so covers all files. `cosign sign-blob` and build attestations sign it like any file. A valid signature
 * stays valid, because only the time of signing counts, so the same bytes are verified once.
 */
export class PackageSignatures {
  readonly #root: TrustMaterial
  readonly #known = new Map<string, Verification<ExtensionSigner>>()

  constructor(root: TrustMaterial) {
    this.#root = root
  }

  /** Contract: never rejects because of its input. */
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
    const request: PackageRequest = { bundle, integrityFile, trustRoot: this.#root.json }
    const result = await verifyApart<ExtensionSigner>({ kind: 'package', request })
    if (result.ok || !ROOT_MATTERS.has(result.fault.step)) return result
    const { step, message } = result.fault
    const root = `the trust root (${materialInWords(this.#root)})`
    return unverified(
      step, step === 'trustRoot' ? `cannot be verified: ${root} ${message}` : `${message}; compared with ${root}`,
    )
  }
}

export interface PackageRequest {
  readonly bundle: Uint8Array
  readonly integrityFile: Uint8Array
  readonly trustRoot: Json
}

let opened: { readonly trustRoot: string; readonly verifier: Verification<BundleVerifier> } | undefined

/** In a thread of the pool. */
export function provePackage(
  { bundle, integrityFile, trustRoot }: PackageRequest, sigstore: typeof import('./sigstore.ts'),
): Verification<ExtensionSigner> {
  const parsed = parseStrictJson(bundle)
  if (!parsed.ok) return unverified('form', parsed.message)
  const text = JSON.stringify(trustRoot)
  if (opened?.trustRoot !== text) opened = { trustRoot: text, verifier: sigstore.BundleVerifier.open(trustRoot) }
  const { verifier } = opened
  return verifier.ok ? verifyOver(verifier.value, parsed.value, integrityFile) : verifier
}

function verifyOver(verifier: BundleVerifier, bundle: Json, integrityFile: Uint8Array): Verification<ExtensionSigner> {
  const result = verifier.verify(bundle, integrityFile)
  if (!result.ok) return result
  const { signer, statement } = result.value
  if (signer === null) return unverified('key', 'is signed without a certificate')
  if (statement === null) return verified(signer)
  // A statement may say anything about a file, even that it is harmful. Only provenance states its origin.
  if (statement.predicateType !== PROVENANCE_V1) {
    return unverified('statement', `does not state provenance (${PROVENANCE_V1})`)
  }
  const digests = new Map([['sha512', sha512(integrityFile)], ['sha256', hash('sha256', integrityFile, 'hex')]])
  return isAbout(statement, digests) ? verified(signer) : unverified('subject', 'states the provenance of another file')
}

/** Trusted authorities and their source. Authorities change, so old material does not know newer ones. */
export interface TrustMaterial {
  readonly source: string
  /** The day it was published, or null if unknown. */
  readonly date: string | null
  readonly json: Json
}

const DAY_MS = 24 * 60 * 60 * 1000

/** In whole days, or null if unknown. */
export const ageInDays = ({ date }: TrustMaterial, now = new Date()): number | null =>
  date === null ? null : Math.max(0, Math.floor((now.getTime() - Date.parse(date)) / DAY_MS))

export function materialInWords(material: TrustMaterial, now?: Date): string {
  const age = ageInDays(material, now)
  return age === null
    ? material.source : `${material.source} of ${material.date}, ${age} ${age === 1 ? 'day' : 'days'} old`
}

export const reportMaterial = (material: TrustMaterial): TrustRootReport =>
  Object.freeze({ source: material.source, date: material.date, ageDays: ageInDays(material) })
