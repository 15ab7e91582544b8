import { isDeepStrictEqual } from 'node:util'
import { BulkheadError, type ExtensionDescriptor } from '@bulkhead/contract'
import { isAbsent } from '@bulkhead/kit/folders'
import { isJsonObject, type Json } from '@bulkhead/kit/json'
import { visibleText } from '@bulkhead/kit/text'
import type { ConfigResolution } from '../config/resolve-config.ts'
import { parseStrictJson } from '../files/json-file.ts'
import { readRegularFile } from '../files/read-file.ts'
import {
  TEST_RESULT, verifyConformance, type AttestationRequest, type AttestationSigners,
} from '../signature/conformance.ts'
import { unverified, verified, type Verification, type VerificationStep } from '../signature/verification.ts'
import type { InstallSpec } from './obtain-package.ts'

export interface ConformanceSources {
  readonly spec: InstallSpec
  /** The file that the operator names. Then no other place is searched. */
  readonly file?: string | undefined
  /** The registry's answer about this version. */
  readonly attestations: Json
}

export interface CheckedConformance {
  /** Who attests that the package conforms; null if no one whose word could be verified does. */
  readonly attestedBy: string | null
  /** About attestations that prove nothing here. */
  readonly warnings: readonly string[]
}

/**
 * Verifies the attestations that come with a package. Rejects with ConformanceUnproven if one is wrong, or if the
 * configuration requires one and none counts.
 */
export async function checkConformance(
  { id, version, digests }: ExtensionDescriptor, resolution: ConfigResolution, sources: ConformanceSources,
  trustRoot: Json,
): Promise<CheckedConformance> {
  const lists = requiredSigners(resolution)
  const candidates = candidatesIn(sources)
  const about = { digest: digests.package, trustRoot }
  if (lists === null) return checkUnrequired(candidates, namedSigners(resolution), about)
  if (lists.some(({ length }) => length === 0)) {
    throw refusal(
      'policy', 'The policy requires proof of conformance, and names no signer whose proof counts.',
      'Correct policy.conformance.signers in the configuration. `bulkhead doctor` shows what cannot be read.',
    )
  }
  let first: BulkheadError | undefined
  for (const { name, bundle } of candidates) {
    const result = bundle.ok ? await byAll(lists, bundle.value, about) : bundle
    if (result.ok) return { attestedBy: result.value, warnings: [] }
    const { step, message } = result.fault
    first ??= refusal(step, `${name} ${message}.`, CURES[step] ?? GET_ONE)
  }
  const wanted = `The policy requires proof that ${id} ${version} conforms`
  throw first ?? refusal('missing', `${wanted}, and there is none.`, GET_ONE)
}

const refusal = (step: VerificationStep | 'policy' | 'missing', message: string, cure: string): BulkheadError =>
  new BulkheadError('ConformanceUnproven', `${message} ${cure}`, { data: { step } })

/** These faults are no sign of a wrong attestation: it is about this package, and proves nothing here. */
const NO_PROOF: Partial<Record<VerificationStep, string>> = {
  key: 'It proves nothing. Pin its key in policy.conformance.signers if you trust it.',
  result: 'It can be installed, because no policy requires that it conforms.',
}

async function checkUnrequired(
  candidates: readonly Candidate[], signers: AttestationSigners, about: Attested,
): Promise<CheckedConformance> {
  const warnings: string[] = []
  let attestedBy: string | null = null
  for (const { name, bundle } of candidates) {
    const result = bundle.ok
      ? await verifyConformance({ ...about, bundle: bundle.value, signers, acceptsUnpinned: true }) : bundle
    if (result.ok) {
      attestedBy ??= result.value
      continue
    }
    const { step, message } = result.fault
    if (NO_PROOF[step] === undefined) throw refusal(step, `${name} ${message}.`, GET_AGAIN)
    warnings.push(`${name} ${message}. ${NO_PROOF[step]}`)
  }
  return { attestedBy, warnings }
}

const GET_AGAIN = 'Get the package and its attestation again from the publisher.'

const GET_ONE = 'Get an attestation of this package by one of the signers in policy.conformance.signers, and pass it '
  + 'with --attestation FILE, or put it beside the tarball as NAME-VERSION.conformance.json.'

const CURES: Partial<Record<VerificationStep, string>> = {
  subject: 'Get the attestation of exactly this package: each change of a file needs a new one.',
  result: 'Install another version, or ask the publisher to correct what `bulkhead conformance` shows.',
  signer: 'A publisher\'s own attestation counts only if you pin that publisher in policy.conformance.signers.',
  key: 'A publisher\'s own attestation counts only if you pin its key in policy.conformance.signers.',
}

/**
 * The lists of the layers, each of which must accept the signer, so that no layer widens the list of another. A layer
 * that requires an attestation and names no signer accepts none. null: no attestation is required.
 */
function requiredSigners({ config: { layers }, diagnostics }: ConfigResolution): readonly AttestationSigners[] | null {
  // What a file requires is unknown if it cannot be read. Then its tools are disabled.
  const isUnknown = layers.some(({ location, config }) => config.toolsEnabled === false && config.policy === undefined
    && diagnostics.some((fault) => fault.severity === 'error' && fault.location === location))
  if (isUnknown) return [[]]
  const policies = layers.flatMap(({ config: { policy } }) => policy?.conformance ?? [])
  if (!policies.some(({ require }) => require === true)) return null
  return policies.flatMap(({ require, signers }) => signers === undefined && require !== true ? [] : [signers ?? []])
}

/** The signers that count, if no attestation is required. Each layer that names some must accept the signer. */
function namedSigners({ config: { layers } }: ConfigResolution): AttestationSigners {
  const [first = [], ...others] = layers.flatMap(({ config: { policy } }) =>
    policy?.conformance?.signers === undefined ? [] : [policy.conformance.signers])
  return first.filter((signer) => others.every((list) => list.some((one) => isDeepStrictEqual(one, signer))))
}

type Attested = Pick<AttestationRequest, 'digest' | 'trustRoot'>

/** Each list must accept the same attestation. */
async function byAll(
  lists: readonly AttestationSigners[], bundle: Json, about: Attested,
): Promise<Verification<string>> {
  const results = await Promise.all(lists.map((signers) => verifyConformance({ ...about, bundle, signers })))
  return results.find(({ ok }) => !ok) ?? results[0]!
}

interface Candidate {
  /** Where it was found. */
  readonly name: string
  readonly bundle: Verification<Json>
}

function candidatesIn({ spec, file, attestations }: ConformanceSources): readonly Candidate[] {
  if (file !== undefined) return [readCandidate(file)]
  if (spec.kind === 'tarball') {
    const beside = `${spec.path.replace(/\.(?:tgz|tar\.gz)$/, '')}.conformance.json`
    return isAbsent(beside) ? [] : [readCandidate(beside)]
  }
  const listed = isJsonObject(attestations) ? attestations['attestations'] : undefined
  return (Array.isArray(listed) ? listed as readonly Json[] : []).filter(isJsonObject)
    .filter(({ predicateType }) => predicateType === TEST_RESULT)
    .map(({ bundle = null }) => ({ name: 'The attestation of the registry', bundle: verified(bundle) }))
}

/** A bundle lists a few hundred results. */
const MAX_BYTES = 1024 * 1024

function readCandidate(file: string): Candidate {
  const name = visibleText(file)
  const read = readRegularFile(file, { maxBytes: MAX_BYTES, followLinks: true })
  if (!read.ok) return { name, bundle: unverified('form', read.message) }
  const parsed = parseStrictJson(read.bytes)
  return { name, bundle: parsed.ok ? verified(parsed.value) : unverified('form', parsed.message) }
}
