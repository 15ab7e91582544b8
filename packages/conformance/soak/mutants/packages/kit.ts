import type { Mutant } from '../mutant.ts'
import { KIT_LIMITS } from './kit/limits.ts'
import { KIT_PROMISES } from './kit/promises.ts'

export const KIT: readonly Mutant[] = [...KIT_LIMITS, ...KIT_PROMISES]
