import type { Mutant } from '../mutant.ts'
import { STORE_LIMITS } from './store/limits.ts'
import { STORE_PROMISES } from './store/promises.ts'
import { STORE_PLACEMENTS } from './store/placements.ts'
import { STORE_POSTGRES } from './store/postgres.ts'

export const STORE: readonly Mutant[] = [...STORE_LIMITS, ...STORE_PROMISES, ...STORE_POSTGRES, ...STORE_PLACEMENTS]
