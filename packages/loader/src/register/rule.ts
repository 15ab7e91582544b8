import type { ExtensionDescriptor } from '@bulkhead/contract'
import type { Outline } from '../outline.ts'
import type { Fault } from '../model/result.ts'

/** A proven extension that is to stand beside others. Most of what matters there is in the outline. */
export interface Candidate {
  readonly descriptor: ExtensionDescriptor
  readonly outline: Outline
}

/** Who of a layer cannot be registered beside the others, and why. A rule changes nothing and may be asked again. */
export type RegistrationRule = (candidates: readonly Candidate[]) => ReadonlyMap<Candidate, Fault>
