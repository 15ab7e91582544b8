import { BulkheadError, compileApprovalKey } from '@bulkhead/contract'
import { isJsonObject, type JsonObject } from '@bulkhead/kit/json'
import type { Shaped } from '../describe/extension.ts'
import { passUnless, type Fault, type StageResult } from '../model/result.ts'

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
