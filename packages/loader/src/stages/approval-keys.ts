import { BulkheadError, compileApprovalKey } from '@bulkhead/contract'
import type { Shaped } from '../extension.ts'
import { passUnless, type Fault, type StageResult } from '../result.ts'

/** Every approval key template can be compiled, so that no call finds out later. */
export function approvalKeys(shaped: Shaped): StageResult<Shaped> {
  return passUnless(shaped.manifest.tools.flatMap(({ approvalKey }, index): Fault[] => {
    if (approvalKey === undefined) return []
    try {
      compileApprovalKey(approvalKey)
      return []
    } catch (error) {
      const { message } = BulkheadError.from(error)
      return [{ stage: 'shape', code: 'ApprovalKeyInvalid', path: `/tools/${index}/approvalKey`, message }]
    }
  }), shaped)
}
