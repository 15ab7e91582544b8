import type { ExtensionDescriptor } from '@bulkhead/contract'
import type { Outline } from '../describe/extension.ts'
import type { Fault } from '../model/result.ts'

/** A proven extension that is to stand beside others. Most of what matters there is in the outline. */
export interface Registrant {
  readonly descriptor: ExtensionDescriptor
  readonly outline: Outline
}

/** Who of a layer cannot be registered beside the others, and why. A rule changes nothing and may be asked again. */
export type RegistrationRule = (registrants: readonly Registrant[]) => ReadonlyMap<Registrant, Fault>
