import type { Mutant } from '../mutant.ts'
import { LOADER_LAYER_LIMITS } from './loader/layer-limits.ts'
import { LOADER_LAYER_PROMISES } from './loader/layer-promises.ts'
import { LOADER_PACKAGE_LIMITS } from './loader/package-limits.ts'
import { LOADER_PACKAGE_PROMISES } from './loader/package-promises.ts'

export const LOADER: readonly Mutant[] = [
  ...LOADER_LAYER_LIMITS, ...LOADER_LAYER_PROMISES, ...LOADER_PACKAGE_LIMITS, ...LOADER_PACKAGE_PROMISES,
]
