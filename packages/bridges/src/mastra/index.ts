export { CallApprovals as ToolApprovals } from '../models/call-approvals.ts'
export {
  toMastraTools, type MastraAnswer, type MastraQuestion, type MastraSession, type MastraTool, type MastraToolsOptions,
} from './mastra-tools.ts'
