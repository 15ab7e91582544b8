import type { ExtensionSigner } from '@bulkhead/contract'
import { isJsonObject, type Json } from '@bulkhead/kit/json'
import { visibleText } from '@bulkhead/kit/text'
import { NPM_KEYS, PUBLIC_GOOD_ROOT } from './public-good.ts'
import { verifyApart } from './signature-pool.ts'
import type { BundleVerifier } from './sigstore.ts'
import {
  isAbout, PROVENANCE_V1, unverified, verified, type Statement, type Verification, type VerificationStep,
} from './verification.ts'

export interface NpmAttestationRequest {
  /** The registry's answer for one version: `{ attestations: [{ predicateType, bundle }] }`. */
  readonly attestations: Json
  readonly name: string
  readonly version: string
  /** Lower-case hex, of the tarball as it was received. */
  readonly tarballSha512: string
  /** A sigstore trusted root; by default the public one that ships with the loader. */
  readonly trustRoot?: Json
  /**
   * `{ keys: [{ keyId, keyUsage, publicKey }] }`, as sigstore distributes npm's; by default those that ship with the
   * loader.
   */
  readonly keys?: Json
}

/** What was proven about a tarball: at least one of the two. */
export interface NpmAttestations {
  /** Whether the registry signed that it published this tarball under this name and version. */
  readonly published: boolean
  /** The builder named by the certificate; null if no build was attested. */
  readonly builder: ExtensionSigner | null
}

export type NpmVerification =
  | { readonly ok: true; readonly value: NpmAttestations }
  | {
    readonly ok: false
    readonly code: 'SignatureInvalid'
    readonly step: VerificationStep
    readonly message: string
    readonly cure: string
  }

type Kind = 'publication' | 'provenance'

/** Attestations of other types are ignored. */
const KINDS: ReadonlyMap<Json | undefined, Kind> = new Map([
  ['https://github.com/npm/attestation/tree/main/specs/publish/v0.1', 'publication'],
  [PROVENANCE_V1, 'provenance'],
  ['https://slsa.dev/provenance/v0.2', 'provenance'],
])
const MAX_ATTESTATIONS = 16

/**
 * Verifies the npm attestations of one version: each kind has the right signer, and is about this name, this version
 * and these bytes, which a signature verifier does not check. One invalid attestation fails the whole. Makes no
 * request. Contract: never rejects because of its input.
 */
export async function verifyNpmAttestations(request: NpmAttestationRequest): Promise<NpmVerification> {
  const result = await verifyApart<NpmAttestations>({ kind: 'npm', request })
  if (result.ok) return result
  const { step, message } = result.fault
  return {
    ok: false, code: 'SignatureInvalid', step,
    message: `The attestation of ${visibleText(request.name)}@${visibleText(request.version)} ${message}.`,
    cure: 'Do not install it. Fetch the tarball and its attestations again; if they still differ, ask the publisher.',
  }
}

/** In a thread of the pool. */
export function proveNpm(
  request: NpmAttestationRequest, { BundleVerifier: Bundles, readKeys }: typeof import('./sigstore.ts'),
): Verification<NpmAttestations> {
  const keys = readKeys(request.keys ?? NPM_KEYS.json, 'npm:attestations')
  if (!keys.ok) return keys
  const opened = Bundles.open(request.trustRoot ?? PUBLIC_GOOD_ROOT.json, keys.value)
  if (!opened.ok) return opened

  const listed = listAttestations(request.attestations)
  if (!listed.ok) return listed
  let builder: ExtensionSigner | null = null
  for (const { kind, predicateType, bundle } of listed.value) {
    const result = verifyOne(opened.value, kind, predicateType, bundle, request)
    if (!result.ok) return unverified(result.fault.step, `(${kind}) ${result.fault.message}`)
    builder = result.value ?? builder
  }
  return verified({ published: listed.value.some(({ kind }) => kind === 'publication'), builder })
}

interface Listed {
  readonly kind: Kind
  readonly predicateType: string
  readonly bundle: Json
}

function listAttestations(answer: Json): Verification<readonly Listed[]> {
  const entries = isJsonObject(answer) ? answer['attestations'] : undefined
  if (!Array.isArray(entries) || entries.length > MAX_ATTESTATIONS) {
    return unverified('form', `is not a list of at most ${MAX_ATTESTATIONS} attestations`)
  }
  const listed = (entries as readonly Json[]).flatMap((entry): Listed[] => {
    const { predicateType, bundle = null } = isJsonObject(entry) ? entry : {}
    const kind = KINDS.get(predicateType)
    return kind === undefined ? [] : [{ kind, predicateType: predicateType as string, bundle }]
  })
  if (listed.length === 0) return unverified('statement', 'states neither publication nor provenance')
  // With two of a kind, the builder is ambiguous.
  const twice = [...Map.groupBy(listed, ({ kind }) => kind)].find(([, same]) => same.length > 1)
  return twice === undefined ? verified(listed) : unverified('statement', `states the ${twice[0]} twice`)
}

function verifyOne(
  verifier: BundleVerifier, kind: Kind, predicateType: string, bundle: Json, request: NpmAttestationRequest,
): Verification<ExtensionSigner | null> {
  const result = verifier.verify(bundle, new Uint8Array())
  if (!result.ok) return result
  const { signer, statement } = result.value
  if (statement === null) return unverified('statement', 'holds no statement')
  if (statement.predicateType !== predicateType) {
    return unverified('statement', 'is listed under another type than it states')
  }
  // Every publisher can get a certificate. Only the registry's key proves publication.
  if (kind === 'publication' && signer !== null) return unverified('signer', 'is not signed with a key of the registry')
  if (kind === 'provenance' && signer === null) {
    return unverified('signer', 'is not signed with the certificate of a build')
  }
  const fault = findSubjectFault(kind, statement, request)
  return fault === undefined ? verified(signer) : unverified('subject', fault)
}

function findSubjectFault(
  kind: Kind, statement: Statement, { name, version, tarballSha512 }: NpmAttestationRequest,
): string | undefined {
  const purl = `pkg:npm/${name.replace(/^@/, '%40')}@${version}`
  if (statement.subjectName !== purl) {
    return `is about "${visibleText(statement.subjectName)}" and not about ${visibleText(purl)}`
  }
  if (!isAbout(statement, new Map([['sha512', tarballSha512]]))) return 'is about a tarball with another sha512'
  const { predicate } = statement
  if (kind === 'publication' && (predicate['name'] !== name || predicate['version'] !== version)) {
    return 'contradicts itself about the name or the version'
  }
  return undefined
}
