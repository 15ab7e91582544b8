import type { Mutant } from '../mutant.ts'
import { SANDBOX_BOUNDARY } from './sandbox/boundary.ts'
import { SANDBOX_COMPARTMENTS } from './sandbox/compartments.ts'
import { SANDBOX_PROMISES } from './sandbox/promises.ts'

export const SANDBOX: readonly Mutant[] = [...SANDBOX_BOUNDARY, ...SANDBOX_COMPARTMENTS, ...SANDBOX_PROMISES]
