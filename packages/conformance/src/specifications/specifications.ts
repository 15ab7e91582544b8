import { GRIDA } from './grida.ts'
import { MORPHIX } from './morphix.ts'
import { PHI } from './phi.ts'
import type { Specification } from './requirement-table.ts'
import { STEERABLE } from './steerable.ts'
import { STUD } from './stud.ts'

/** The specifications that the host implements, requirement by requirement. */
export const SPECIFICATIONS: readonly Specification[] = [
  { name: 'stud', requirements: STUD },
  { name: 'grida', requirements: GRIDA },
  { name: 'morphix', requirements: MORPHIX },
  { name: 'steerable', requirements: STEERABLE },
  { name: 'phi', requirements: PHI },
]
