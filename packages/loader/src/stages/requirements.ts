import { BulkheadError, checkRequirements, type RequirementSet } from '@bulkhead/contract'
import type { Shaped } from '../extension.ts'
import { passUnless, type Fault, type StageResult } from '../result.ts'

/** Every path pattern can be compiled, whatever its variables will stand for. */
export function requirements(shaped: Shaped): StageResult<Shaped> {
  const faults = shaped.manifest.tools.flatMap(({ requires }, tool) =>
    (['read', 'write'] as const).flatMap((access) =>
      (requires.fs?.[access] ?? []).flatMap((pattern, index) =>
        faultOf({ fs: { [access]: [pattern] } }, `/tools/${tool}/requires/fs/${access}/${index}`))))
  return passUnless(faults, shaped)
}

function faultOf(requires: RequirementSet, path: string): Fault[] {
  try {
    checkRequirements(requires)
    return []
  } catch (error) {
    return [{ stage: 'shape', code: 'RequirementInvalid', path, message: BulkheadError.from(error).message }]
  }
}
