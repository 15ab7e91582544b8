import {
  ANY_COMMAND, BulkheadError, checkRequirements, compileApprovalKey, CONTRACT_VERSION, type RequirementSet,
} from '@bulkhead/contract'
import { contractCompatible, coreSatisfies } from '@bulkhead/contract/validation'
import { isJsonObject, type JsonObject } from '@bulkhead/kit/json'
import { visibleText } from '@bulkhead/kit/text'
import { validRange } from 'semver'
import type { Shaped } from '../describe/extension.ts'
import { pass, passUnless, refuse, type Fault, type StageResult } from '../model/result.ts'
import type { ProofContext } from './package-policy.ts'

/** Tool names must differ in more than case, so that a person can tell them apart. */
export function checkToolNames(shaped: Shaped): StageResult<Shaped> {
  const seen = new Map<string, string>()
  return passUnless(shaped.manifest.tools.flatMap(({ name }, index): Fault[] => {
    const twin = seen.get(name.toLowerCase())
    seen.set(name.toLowerCase(), name)
    if (twin === undefined) return []
    return [{
      stage: 'shape', code: 'ShapeInvalid', path: `/tools/${index}/name`,
      message: `The tools "${twin}" and "${name}" differ only in case.`,
      cure: 'Give each tool a name of its own.',
    }]
  }), shaped)
}

/** Path patterns must compile for any value of their variables. Only bundled tools may require all commands. */
export function checkToolRequirements(shaped: Shaped): StageResult<Shaped> {
  // For a server, requirements describe a process that runs unconfined.
  const mayRunAll = shaped.layer === 'bundled' || (shaped.origin.kind === 'module' && shaped.origin.connection !== undefined)
  const commands = mayRunAll ? [] : shaped.manifest.tools.flatMap(({ requires }, tool) =>
    (requires.shell ?? []).flatMap(({ cmd }, index) => cmd === ANY_COMMAND ? [allCommandsFault(`/tools/${tool}/requires/shell/${index}/cmd`)] : []))
  const faults = shaped.manifest.tools.flatMap(({ requires }, tool) =>
    (['read', 'write'] as const).flatMap((access) =>
      (requires.fs?.[access] ?? []).flatMap((pattern, index) =>
        faultOf({ fs: { [access]: [pattern] } }, `/tools/${tool}/requires/fs/${access}/${index}`))))
  return passUnless([...faults, ...commands], shaped)
}

const allCommandsFault = (path: string): Fault => ({
  stage: 'shape', code: 'RequirementInvalid', path,
  message: 'Only bundled tools may require all commands. Name the commands that the tool runs.',
})

function faultOf(requires: RequirementSet, path: string): Fault[] {
  try {
    checkRequirements(requires)
    return []
  } catch (error) {
    return [{ stage: 'shape', code: 'RequirementInvalid', path, message: BulkheadError.from(error).message }]
  }
}

/** Approval key templates must compile and use arguments that exist. Otherwise the first call would fail. */
export function checkApprovalKeys(shaped: Shaped): StageResult<Shaped> {
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
      `The approval key "${approvalKey}" uses the argument "${stray}", which inputSchema does not have, so it cannot distinguish calls. `
      + 'Use one of its properties.',
    )
  }), shaped)
}

/** The first argument of a template that no call can have, because the schema is closed and does not list it. */
function strayArgument(template: string, { properties, patternProperties, additionalProperties }: JsonObject): string | undefined {
  if (additionalProperties !== false || patternProperties !== undefined) return undefined
  const known = isJsonObject(properties) ? properties : {}
  return [...template.matchAll(/\{([^{}.]+)(?:\.[^{}]*)?\}/g)].map(([, name]) => name!).find((name) => !Object.hasOwn(known, name))
}

/** The main module must be in the package. Its code is not read here. */
export function checkMainFile(shaped: Shaped): StageResult<Shaped> {
  const { manifest: { main }, origin } = shaped
  if (origin.kind === 'module' || origin.evidence.fileDigests().has(main.slice('./'.length))) return pass(shaped)
  return refuse({
    stage: 'shape', code: 'ShapeInvalid', path: '/main', message: `The module "${main}" is not in the package.`,
    cure: 'Build the extension, or correct main.',
  })
}

/** The host must support the contract version of the manifest. */
export function checkContractVersion(shaped: Shaped): StageResult<Shaped> {
  const wanted = shaped.manifest.contractVersion
  if (contractCompatible(wanted)) return pass(shaped)
  return refuse({
    stage: 'contractVersion', code: 'ContractVersionMismatch', path: '/contractVersion',
    message: `The manifest is written for contract ${wanted}; this host supports ${CONTRACT_VERSION}.`,
  })
}

/** The version of this host must be in the range that the extension requires. */
export function checkCoreVersion(shaped: Shaped, { coreVersion }: ProofContext): StageResult<Shaped> {
  const range = shaped.manifest.requiredCoreVersion
  if (coreSatisfies(range, coreVersion)) return pass(shaped)
  const readable = validRange(range) !== null
  return refuse({
    stage: 'requiredCoreVersion', code: 'RequiredCoreVersionMismatch', path: '/requiredCoreVersion',
    message: readable
      ? `The extension requires a host version in ${visibleText(range)}; this host is ${coreVersion}.`
      : `"${visibleText(range)}" is not a version range.`,
    ...(!readable && { cure: 'Write a range such as ^1.0.0.' }),
  })
}
