import { BulkheadError, MANIFEST_FILE, type ExtensionDescriptor, type Layer } from '@bulkhead/contract'
import { resolveConfig } from '../config/resolve-config.ts'
import type { Terms } from '../describe/extension.ts'
import { faultError } from '../fault-error.ts'
import { isCovered } from '../files/integrity-file.ts'
import type { PackageContents } from '../files/read-package.ts'
import type { LayerLock } from '../lock/layer-lock.ts'
import type { Settings } from '../config/settings.ts'
import { Pace } from '../model/yielder.ts'
import { proveContents } from '../prove/pipeline.ts'
import { SchemaCourt } from '../schema/schema-checker.ts'
import { PackageSignatures } from '../signature/package-signatures.ts'
import type { Candidate } from './obtain-package.ts'

export interface ProvenCandidate {
  readonly extension: ExtensionDescriptor
  readonly warnings: readonly string[]
  readonly terms: Terms
}

/** Takes a package through every stage but the lock, as if it stood in the layer. Rejects with the code of what is wrong with it. */
export async function proveCandidate(candidate: Candidate, settings: Settings, layer: Layer, projectRoot: string | null): Promise<ProvenCandidate> {
  const { source, attested, location, contents, version } = candidate
  const terms = termsFor(settings, layer, projectRoot, { kind: 'deciding', source, attested })
  const proof = await proveContents({ layer, location, part: location }, contents, terms)
  if (proof.kind === 'disabled') throw new BulkheadError('ConfigInvalid', `The configuration has "${proof.id}" disabled: enable it first.`)
  if (proof.kind === 'refused') throw faultError(proof.faults)
  const { descriptor, warnings } = proof
  if (version !== null && descriptor.version !== version) {
    throw new BulkheadError('PackageUnsafe', `The package is ${location} and its ${MANIFEST_FILE} says ${descriptor.version}.`)
  }
  return { extension: withCode(descriptor, contents), warnings: [...candidate.warnings, ...warnings.map(({ message }) => message)], terms }
}

/** It stands nowhere yet, or not like this: its code is what was proven, and not what lies where it came from. */
function withCode(descriptor: ExtensionDescriptor, { bytes }: PackageContents): ExtensionDescriptor {
  const files = new Map([...bytes].filter(([path]) => isCovered(path)))
  return Object.freeze({ ...descriptor, code: Object.freeze({ kind: 'files' as const, readFiles: async () => files }) })
}

function termsFor(settings: Settings, layer: Layer, projectRoot: string | null, lock: LayerLock): Terms {
  const { coreVersion, limits, trustRoot } = settings
  const { config } = resolveConfig(settings, projectRoot, undefined)
  return {
    coreVersion, config, limits, pace: new Pace(), locks: new Map([[layer, lock]]),
    schemas: new SchemaCourt(limits), signatures: new PackageSignatures(trustRoot),
  }
}
