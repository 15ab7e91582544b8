import type { Mutant } from '../mutant.ts'
import { CONTRACT_LIMITS } from './contract/limits.ts'
import { CONTRACT_PROMISES } from './contract/promises.ts'

export const CONTRACT: readonly Mutant[] = [...CONTRACT_LIMITS, ...CONTRACT_PROMISES]
