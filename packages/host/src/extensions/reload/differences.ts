import type { Diagnostic, ExtensionDescriptor, LoadReport } from '@bulkhead/contract'
import { canonicalJson, type Json } from '@bulkhead/kit/json'
import { fingerprintOf, type Candidate } from '../registry/candidate.ts'
import type { Settings } from '../../model/settings.ts'

/** What a new report means for one extension of one layer. */
export type Change =
  | { readonly kind: 'added'; readonly descriptor: ExtensionDescriptor }
  | { readonly kind: 'changed'; readonly old: Candidate; readonly descriptor: ExtensionDescriptor }
  | { readonly kind: 'removed'; readonly old: Candidate }
  /** It is still there, and so faulty that the report does not have it. */
  | { readonly kind: 'broken'; readonly old: Candidate; readonly diagnostic: Diagnostic }

export interface Comparison {
  readonly current: readonly Candidate[]
  /** Which could not be prepared before: with the same bytes they cannot be now. */
  readonly unprepared: readonly { readonly descriptor: ExtensionDescriptor }[]
  readonly before: Settings
  readonly report: LoadReport
  readonly after: Settings
  /** Layer and id of what did not come from a report, and does not go with one. */
  readonly apart: ReadonlySet<string>
  /** Only these ids, and those as changed even where nothing about them is. */
  readonly only?: ReadonlySet<string> | undefined
}

/** Pure. What is the same is left out. */
export function differences({ current, unprepared, before, report, after, apart, only }: Comparison): readonly Change[] {
  const inScope = (descriptor: ExtensionDescriptor) => !apart.has(keyOf(descriptor)) && (!only || only.has(descriptor.id))
  const wanted = report.extensions.filter((descriptor) => inScope(descriptor) && after.extension(descriptor.id).enabled !== false)
  const known = new Map(current.map((candidate) => [keyOf(candidate.descriptor), candidate]))
  const hopeless = new Set(unprepared.map(({ descriptor }) => `${keyOf(descriptor)} ${descriptor.digests.package}`))
  const there = new Set(wanted.map(keyOf))
  const changes = wanted.flatMap((descriptor): Change[] => {
    const old = known.get(keyOf(descriptor))
    if (!old) return hopeless.has(`${keyOf(descriptor)} ${descriptor.digests.package}`) ? [] : [{ kind: 'added', descriptor }]
    return only || fingerprintOf(descriptor, after) !== old.fingerprint ? [{ kind: 'changed', old, descriptor }] : []
  })
  const samePolicy = text(before.file.policy) === text(after.file.policy)
  const gone = current.filter(({ descriptor }) => inScope(descriptor) && !there.has(keyOf(descriptor)))
  return [...changes, ...gone.map((old): Change => {
    const isOff = after.extension(old.descriptor.id).enabled === false
    const diagnostic = isOff || !samePolicy ? undefined : report.diagnostics.find((found) => explains(found, old.descriptor))
    return diagnostic ? { kind: 'broken', old, diagnostic } : { kind: 'removed', old }
  })]
}

export const keyOf = ({ layer, id }: ExtensionDescriptor): string => `${layer}/${id}`

const text = (value: unknown): string => canonicalJson((value ?? null) as Json)

/** A layer that is no longer trusted is gone, not broken. */
function explains({ severity, stage, layer, extensionId, location }: Diagnostic, old: ExtensionDescriptor): boolean {
  if (severity !== 'error' || stage === 'trust' || layer !== old.layer) return false
  return extensionId === old.id || location === old.location || (extensionId === null && isBelow(old.location, location))
}

const isBelow = (path: string, folder: string): boolean => path.startsWith(`${folder}/`) || path.startsWith(`${folder}\\`)
