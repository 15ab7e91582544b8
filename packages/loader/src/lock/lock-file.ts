import { LOCK_VERSION, type AcceptedCapabilities, type ExtensionDescriptor, type LockEntry, type Manifest } from '@bulkhead/contract'
import { lockFileSchema } from '@bulkhead/contract/validation'
import type { Json } from '@bulkhead/kit/json'
import { visibleText } from '@bulkhead/kit/text'
import { placeIssues, pointerOf } from '../files/schema-issues.ts'
import { parseStrictJson } from '../files/strict-json.ts'
import { byteOrder, capabilityDigest } from '../model/digest.ts'

/** Accepted extensions of a layer, by id. */
export type Lock = ReadonlyMap<string, LockEntry>

export type ParsedLock =
  | { readonly ok: true; readonly lock: Lock }
  /** The message continues a sentence that starts with the name of the file. */
  | { readonly ok: false; readonly path: string; readonly message: string }

/** Contract: never throws. One invalid entry makes the whole lock invalid. */
export function parseLock(bytes: Uint8Array): ParsedLock {
  const json = parseStrictJson(bytes)
  if (!json.ok) return { ok: false, path: json.path, message: json.message }
  const parsed = lockFileSchema.safeParse(json.value)
  if (!parsed.success) {
    const [first = { steps: [], message: 'is wrong' }] = placeIssues(parsed.error.issues, lockFileSchema)
    return fault(pointerOf(first.steps), first.message)
  }
  const entries = Object.entries(parsed.data.extensions)
  for (const [id, entry] of entries) {
    const message = findContradiction(entry)
    if (message !== undefined) return fault(pointerOf(['extensions', id]), message)
  }
  return { ok: true, lock: new Map(entries) }
}

/** People read the capabilities of an entry, so they must match its digest. */
function findContradiction({ capability, capabilities, tools, signer, signedBy }: LockEntry): string | undefined {
  if (declaredDigest(capabilities) !== capability) return 'has capabilities that do not match its digest'
  if (Object.keys(tools).toSorted().join() !== Object.keys(capabilities.tools).toSorted().join()) return 'lists different tools in two places'
  return (signer === null) === (signedBy === null) ? undefined : 'has only one of signer and signedBy'
}

const declaredDigest = ({ env, secrets, state, tools }: AcceptedCapabilities): string =>
  capabilityDigest({ env, secrets, stateSlot: state ?? null, tools: Object.entries(tools).map(([name, requires]) => ({ name, requires })) })

/** One value per line in a fixed order, so that diffs are small. */
export function formatLock(lock: Lock): string {
  const extensions = sorted([...lock].map(([id, entry]): [string, LockEntry] => [id, {
    version: entry.version, root: entry.root, source: entry.source, signer: entry.signer, signedBy: entry.signedBy,
    capability: entry.capability,
    capabilities: {
      env: entry.capabilities.env.toSorted(byteOrder),
      secrets: entry.capabilities.secrets.toSorted((left, right) => byteOrder(left.name, right.name)),
      ...(entry.capabilities.state && { state: true as const }),
      tools: sorted(Object.entries(entry.capabilities.tools)),
    },
    tools: sorted(Object.entries(entry.tools)), accepted: entry.accepted,
  }]))
  return JSON.stringify({ lockVersion: LOCK_VERSION, extensions } as unknown as Json, null, 2) + '\n'
}

const sorted = <T>(entries: readonly (readonly [string, T])[]): Record<string, T> =>
  Object.fromEntries(entries.toSorted(([left], [right]) => byteOrder(left, right)))

const fault = (path: string, message: string): ParsedLock =>
  ({ ok: false, path, message: path === '' ? message : `has a value at ${visibleText(path)} that ${message}` })

export const capabilitiesOf = ({ env, secrets, stateSlot, tools }: Manifest): AcceptedCapabilities => ({
  env: [...env], secrets: [...secrets], ...(stateSlot && { state: true }), tools: Object.fromEntries(tools.map(({ name, requires }) => [name, requires])),
})

/** Recorded when a person accepts an extension. */
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
