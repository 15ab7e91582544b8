import type { ExtensionDescriptor } from '@bulkhead/contract'
import type { Fault } from '../result.ts'

/** Who of a layer cannot be registered beside the others, and why. A rule changes nothing and may be asked again. */
export type RegistrationRule = (candidates: readonly ExtensionDescriptor[]) => ReadonlyMap<ExtensionDescriptor, Fault>
