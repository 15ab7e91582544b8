import type { AcceptedCapabilities, ExtensionDescriptor, LockEntry, Manifest } from '@bulkhead/contract'

export const capabilitiesOf = ({ env, secrets, stateSlot, tools }: Manifest): AcceptedCapabilities => ({
  env: [...env], secrets: [...secrets], ...(stateSlot && { state: true }), tools: Object.fromEntries(tools.map(({ name, requires }) => [name, requires])),
})

/** What is written down when a person accepts. */
export interface Acceptance {
  readonly source: string
  readonly signedBy: LockEntry['signedBy']
  readonly at: Date
  readonly by: string
}

export function lockEntryOf(extension: ExtensionDescriptor, { source, signedBy, at, by }: Acceptance): LockEntry {
  const { version, digests, signer, manifest } = extension
  return {
    version, root: digests.package, source,
    signer: signer === undefined ? null : { ...signer }, signedBy: signer === undefined ? null : signedBy,
    capability: digests.capability, capabilities: capabilitiesOf(manifest), tools: Object.fromEntries(digests.tools),
    accepted: { at: at.toISOString(), by },
  }
}
