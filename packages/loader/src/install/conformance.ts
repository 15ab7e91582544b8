import { existsSync } from 'node:fs'
import { BulkheadError, type ExtensionDescriptor } from '@bulkhead/contract'
import { isJsonObject, type Json } from '@bulkhead/kit/json'
import { visibleText } from '@bulkhead/kit/text'
import type { ConfigResolution } from '../config/resolve-config.ts'
import { parseStrictJson } from '../files/json-file.ts'
import { readRegularFile } from '../files/read-file.ts'
import { TEST_RESULT, verifyConformance, type AttestationSigners } from '../signature/conformance.ts'
import { unverified, verified, type Verification, type VerificationStep } from '../signature/verification.ts'
import type { InstallSpec } from './obtain-package.ts'

export interface ConformanceSources {
  readonly spec: InstallSpec
  /** The file that the operator names. Then no other place is searched. */
  readonly file?: string | undefined
  /** The registry's answer about this version. */
  readonly attestations: Json
}

/**
 * Requires an attestation if the configuration does. Resolves with the signers, or null if none is required. Rejects
 * with ConformanceUnproven.
 */
export async function requireConformance(
  { id, version, digests }: ExtensionDescriptor, resolution: ConfigResolution, sources: ConformanceSources,
  trustRoot: Json,
): Promise<string | null> {
  const lists = requiredSigners(resolution)
  if (lists === null) return null
  const refuse = (step: VerificationStep | 'policy' | 'missing', message: string, cure: string): BulkheadError =>
    new BulkheadError('ConformanceUnproven', `${message} ${cure}`, { data: { step } })
  if (lists.some(({ length }) => length === 0)) {
    throw refuse(
      'policy', 'The policy requires proof of conformance, and names no signer whose proof counts.',
      'Correct policy.conformance.signers in the configuration. `bulkhead doctor` shows what cannot be read.',
    )
  }
  const candidates = candidatesIn(sources)
  let first: BulkheadError | undefined
  for (const { name, bundle } of candidates) {
    const result = bundle.ok ? await byAll(lists, bundle.value, digests.package, trustRoot) : bundle
    if (result.ok) return result.value
    const { step, message } = result.fault
    first ??= refuse(step, `${name} ${message}.`, CURES[step] ?? GET_ONE)
  }
  const wanted = `The policy requires proof that ${id} ${version} conforms`
  throw first ?? refuse('missing', `${wanted}, and there is none.`, GET_ONE)
}

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

/** Each list must accept the same attestation. */
async function byAll(
  lists: readonly AttestationSigners[], bundle: Json, digest: string, trustRoot: Json,
): Promise<Verification<string>> {
  const results = await Promise.all(lists.map((signers) => verifyConformance({ bundle, digest, signers, trustRoot })))
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
    return existsSync(beside) ? [readCandidate(beside)] : []
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
