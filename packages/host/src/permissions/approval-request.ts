import { visibleText, type ApprovalRequest } from '@bulkhead/contract'
import type { ValidatedCall } from '../call.ts'
import { describeGrant } from './describe-grant.ts'
import type { Verdict } from './verdict.ts'

/** The one question of a call: all that wants a person's word, and nothing a stranger wrote can hide or repaint. */
export function approvalRequest(call: ValidatedCall, approvalKey: string, asks: readonly Verdict[]): ApprovalRequest {
  const { tool: { definition, origin, grant }, args } = call
  return {
    callId: visibleText(call.id),
    tool: definition.name,
    label: visibleText(definition.label),
    origin: `${origin.layer} extension ${origin.extension} ${origin.version}`,
    approvalKey: visibleText(approvalKey),
    argumentsText: visibleText(JSON.stringify(args, null, 2), { keepLines: true }),
    touches: describeGrant(grant).map((line) => visibleText(line)),
    reasons: [...new Set(asks.map(({ reason }) => visibleText(reason)))],
  }
}
