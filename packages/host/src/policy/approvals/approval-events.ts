import type { ApprovalGrant } from './approval.ts'

/** The fields every event of an approval carries. */
export const eventFieldsOf = ({ id: approvalId, scope, tool, approvalKey, origin }: ApprovalGrant) =>
  ({ approvalId, scope, tool, approvalKey, origin })
