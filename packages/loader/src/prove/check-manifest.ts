import {
  ANY_COMMAND, BulkheadError, checkRequirements, compileApprovalKey, CONTRACT_VERSION, type RequirementSet,
} from '@bulkhead/contract'
import { contractCompatible, coreSatisfies } from '@bulkhead/contract/validation'
import { isJsonObject, type JsonObject } from '@bulkhead/kit/json'
import { visibleText } from '@bulkhead/kit/text'
import { validRange } from 'semver'
import type { Shaped } from '../describe/extension.ts'
import { pass, passUnless, refuse, type Fault, type StageResult } from '../model/result.ts'
import type { Terms } from './package-policy.ts'

/** No two tools of a manifest differ in case only: a person who is asked must be able to tell them apart. */
export function toolNames(shaped: Shaped): StageResult<Shaped> {
  const seen = new Map<string, string>()
  return passUnless(shaped.manifest.tools.flatMap(({ name }, index): Fault[] => {
    const twin = seen.get(name.toLowerCase())
    seen.set(name.toLowerCase(), name)
    if (twin === undefined) return []
    return [{
      stage: 'shape', code: 'ShapeInvalid', path: `/tools/${index}/name`,
      message: `The tools "${twin}" and "${name}" differ in case only.`,
      cure: 'Give each tool a name of its own.',
    }]
  }), shaped)
}

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

/** Every approval key template can be compiled and is made of arguments there are, so that no call finds out later. */
export function approvalKeys(shaped: Shaped): StageResult<Shaped> {
  return passUnless(shaped.manifest.tools.flatMap(({ approvalKey, inputSchema }, index): Fault[] => {
    if (approvalKey === undefined) return []
    const path = `/tools/${index}/approvalKey`
    const refused = (message: string): Fault[] => [{ stage: 'shape', code: 'ApprovalKeyInvalid', path, message }]
    try {
      compileApprovalKey(approvalKey)
    } catch (error) {
      return refused(BulkheadError.from(error).message)
    }
    const stray = strayArgument(approvalKey, inputSchema)
    return stray === undefined ? [] : refused(
      `The approval key "${approvalKey}" is made of the argument "${stray}", which inputSchema does not have: `
      + 'it would not tell one call from another. Name one of its properties.',
    )
  }), shaped)
}

/** Of a template the first argument that no call can have, since the schema is closed and does not name it. */
function strayArgument(template: string, { properties, patternProperties, additionalProperties }: JsonObject): string | undefined {
  if (additionalProperties !== false || patternProperties !== undefined) return undefined
  const known = isJsonObject(properties) ? properties : {}
  return [...template.matchAll(/\{([^{}.]+)(?:\.[^{}]*)?\}/g)].map(([, name]) => name!).find((name) => !Object.hasOwn(known, name))
}

/** The module that the manifest names is in the package. What is in it is nobody's business before it runs. */
export function mainFile(shaped: Shaped): StageResult<Shaped> {
  const { manifest: { main }, origin } = shaped
  if (origin.kind === 'module' || origin.evidence.fileDigests().has(main.slice('./'.length))) return pass(shaped)
  return refuse({
    stage: 'shape', code: 'ShapeInvalid', path: '/main', message: `The module "${main}" is not in the package.`,
    cure: 'Build the extension, or correct main.',
  })
}

/** The host speaks the contract the manifest is written for. */
export function contractVersion(shaped: Shaped): StageResult<Shaped> {
  const wanted = shaped.manifest.contractVersion
  if (contractCompatible(wanted)) return pass(shaped)
  return refuse({
    stage: 'contractVersion', code: 'ContractVersionMismatch', path: '/contractVersion',
    message: `The manifest is written for contract ${wanted}; this host speaks ${CONTRACT_VERSION}.`,
  })
}

/** This host lies in the range the extension was tested with. */
export function requiredCoreVersion(shaped: Shaped, { coreVersion }: Terms): StageResult<Shaped> {
  const range = shaped.manifest.requiredCoreVersion
  if (coreSatisfies(range, coreVersion)) return pass(shaped)
  const readable = validRange(range) !== null
  return refuse({
    stage: 'requiredCoreVersion', code: 'RequiredCoreVersionMismatch', path: '/requiredCoreVersion',
    message: readable
      ? `The extension asks for a host in ${visibleText(range)}; this host is ${coreVersion}.`
      : `"${visibleText(range)}" is not a range of versions.`,
    ...(!readable && { cure: 'Write a range such as ^1.0.0.' }),
  })
}
