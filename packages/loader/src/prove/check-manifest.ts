import { ANY_COMMAND, BulkheadError, checkRequirements, type RequirementSet } from '@bulkhead/contract'
import type { Shaped } from '../describe/extension.ts'
import { passUnless, type Fault, type StageResult } from '../model/result.ts'

/** Every path pattern can be compiled, whatever its variables will stand for; and no stranger asks for every command there is. */
export function requirements(shaped: Shaped): StageResult<Shaped> {
  // Of a server they are not asked for: they say what a process is able to do that nothing holds.
  const isOurs = shaped.layer === 'bundled' || (shaped.origin.kind === 'module' && shaped.origin.connection !== undefined)
  const commands = isOurs ? [] : shaped.manifest.tools.flatMap(({ requires }, tool) =>
    (requires.shell ?? []).flatMap(({ cmd }, index) => cmd === ANY_COMMAND ? [everyCommand(`/tools/${tool}/requires/shell/${index}/cmd`)] : []))
  const faults = shaped.manifest.tools.flatMap(({ requires }, tool) =>
    (['read', 'write'] as const).flatMap((access) =>
      (requires.fs?.[access] ?? []).flatMap((pattern, index) =>
        faultOf({ fs: { [access]: [pattern] } }, `/tools/${tool}/requires/fs/${access}/${index}`))))
  return passUnless([...faults, ...commands], shaped)
}

const everyCommand = (path: string): Fault => ({
  stage: 'shape', code: 'RequirementInvalid', path,
  message: 'Only what ships with the host may ask for every command. Name the commands it runs.',
})

function faultOf(requires: RequirementSet, path: string): Fault[] {
  try {
    checkRequirements(requires)
    return []
  } catch (error) {
    return [{ stage: 'shape', code: 'RequirementInvalid', path, message: BulkheadError.from(error).message }]
  }
}
