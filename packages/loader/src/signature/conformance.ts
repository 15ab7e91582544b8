import { createPublicKey, type KeyObject } from 'node:crypto'
import type { ConfigFile, ConformanceReport } from '@bulkhead/contract'
import type { Json, JsonObject } from '@bulkhead/kit/json'
import { visibleText } from '@bulkhead/kit/text'
import { isSupported, keyHint } from './sign.ts'
import { verifyApart } from './signature-pool.ts'
import type { TrustedKeys } from './sigstore.ts'
import { findPinFault, signerInWords } from './signer.ts'
import { isAbout, unverified, verified, type Statement, type Verification } from './verification.ts'

/** The predicate of in-toto for results of tests. */
export const TEST_RESULT = 'https://in-toto.io/attestation/test-result/v0.1'
const SUITE = 'bulkhead conformance'
/** The digest of a package is that of its list of files, so it is not the `sha512` of any file. */
const DIGEST = 'bulkheadPackage'

/** The results of a run as an in-toto statement. */
export function conformanceStatement(report: ConformanceReport): JsonObject {
  const { extension: { id, version }, digest, host, seed, checks, summary } = report
  const ids = (isWanted: (check: ConformanceReport['checks'][number]) => boolean): string[] =>
    checks.filter(isWanted).map((check) => check.id)
  const warned = ids(({ level, ok }) => level === 'should' && ok !== true)
  return {
    _type: 'https://in-toto.io/Statement/v1',
    subject: [{ name: `${id}@${version}`, digest: { [DIGEST]: digest } }],
    predicateType: TEST_RESULT,
    predicate: {
      result: !summary.conforms ? 'FAILED' : warned.length > 0 ? 'WARNED' : 'PASSED',
      configuration: [{ name: SUITE, uri: `pkg:npm/bulkhead@${host.version}`, annotations: { seed, ...host } }],
      passedTests: ids(({ ok }) => ok === true),
      warnedTests: warned,
      // A must that could not be checked is not known to hold.
      failedTests: ids(({ level, ok }) => level === 'must' && ok !== true),
    },
  }
}

/** Those whose attestations count: identities in a certificate, or keys. */
export type AttestationSigners = NonNullable<NonNullable<NonNullable<ConfigFile['policy']>['conformance']>['signers']>

export interface AttestationRequest {
  /** A sigstore bundle. */
  readonly bundle: Json
  /** The digest of the package. */
  readonly digest: string
  readonly signers: AttestationSigners
  /** A signer with a certificate counts also if it is none of them. */
  readonly acceptsUnpinned?: boolean
  readonly trustRoot: Json
}

/**
 * Verifies that one of the signers attests conformance of this package. Makes no request. Contract: never rejects
 * because of its input.
 */
export const verifyConformance = (request: AttestationRequest): Promise<Verification<string>> =>
  verifyApart({ kind: 'conformance', request })

/** In a thread of the pool. */
export function proveConformance(
  { bundle, digest, signers, trustRoot, acceptsUnpinned = false }: AttestationRequest,
  { BundleVerifier, readUnverified }: typeof import('./sigstore.ts'),
): Verification<string> {
  // Whoever pins a key vouches for it, so it needs no log that tells when it was valid.
  const opened = BundleVerifier.open(trustRoot, pinnedKeys(signers), { unloggedKeys: true })
  if (!opened.ok) return unverified('trustRoot', `cannot be verified: the trust root ${opened.fault.message}`)
  const result = opened.value.verify(bundle, new Uint8Array())
  if (!result.ok) {
    // A key that is not pinned is no fault of the attestation, unless what it says is wrong.
    const said = acceptsUnpinned && result.fault.step === 'key' ? readUnverified(bundle) : undefined
    return said === undefined ? result : said.ok ? findFault(said.value, digest) ?? result : said
  }
  const { signer, statement } = result.value
  let note = ''
  if (signer !== null) {
    const faults = signers.flatMap((pin) => 'key' in pin ? [] : [findPinFault(pin, signer)])
    if (!faults.includes(undefined) && acceptsUnpinned) note = ', who is not pinned'
    else if (!faults.includes(undefined)) {
      const [only, ...others] = faults
      const other = `is signed by ${signerInWords(signer)}, who is not pinned`
      return unverified('signer', others.length === 0 && only ? only : other)
    }
  }
  const fault = statement === null ? unverified('statement', 'holds no statement') : findFault(statement, digest)
  return fault ?? verified(signer === null ? 'a pinned key' : `${signerInWords(signer)}${note}`)
}

function findFault(statement: Statement, digest: string): Verification<never> | undefined {
  const { predicateType, predicate, subjectName } = statement
  if (predicateType !== TEST_RESULT) return unverified('statement', `does not state results of tests (${TEST_RESULT})`)
  if (!isAbout(statement, new Map([[DIGEST, digest]]))) {
    return unverified('subject', `is about "${visibleText(subjectName.slice(0, 200))}" with other files`)
  }
  const { result, configuration, failedTests } = predicate
  const isOurs = Array.isArray(configuration) && (configuration as readonly Json[]).some((used) =>
    typeof used === 'object' && used !== null && (used as JsonObject)['name'] === SUITE)
  if (!isOurs) return unverified('statement', `states results of another suite than ${SUITE}`)
  const failed = Array.isArray(failedTests) ? failedTests as readonly Json[] : [null]
  if ((result === 'PASSED' || result === 'WARNED') && failed.length === 0) return undefined
  const names = failed.filter((id) => typeof id === 'string').slice(0, 5).map((id) => visibleText(id.slice(0, 64)))
  return unverified('result', `states that the package does not conform (${names.join(', ') || 'no results'})`)
}

/** A key that cannot be read matches no signature. */
const pinnedKeys = (signers: AttestationSigners): TrustedKeys => new Map(
  signers.flatMap((signer) => 'key' in signer ? [readPublicKey(signer.key)] : []).filter((key) => key !== undefined)
    .map((key) => [keyHint(key), { rawBytes: key.export({ format: 'der', type: 'spki' }) }]))

/** undefined for anything but one supported public key in PEM. */
export function readPublicKey(pem: string): KeyObject | undefined {
  try {
    const key = createPublicKey(pem)
    return isSupported(key) ? key : undefined
  } catch {
    return undefined
  }
}
