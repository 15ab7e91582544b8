export { ToolApprovals } from './tool-approvals.ts'
export { toModelOutput } from './model-output.ts'
export { toToolApproval, toToolSet, type ToolProgress, type ToolSetOptions, type ToolSetSession } from './tool-set.ts'
