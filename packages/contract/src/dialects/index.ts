/** Results, calls, names and events in the forms of other agent runtimes. Pure functions that decide nothing. */
export { acceptReturn, fromCanonical, readReturn, type ReturnForm } from './accept.ts'
export { fromGrida, toGrida, toGridaTool, type GridaEnvelope, type GridaTool } from './grida.ts'
export { fromMcp, toMcp, toMcpBlock, type McpBlock, type McpResult } from './mcp.ts'
export { fromMorphix, toMorphix, toMorphixTool } from './morphix.ts'
export type { MorphixFailure, MorphixPaused, MorphixResult, MorphixSuccess, MorphixTool } from './morphix.ts'
export { adviceOnArgument, adviceOnTool } from './untranslated.ts'
export { canonicalCall, canonicalToolName, expandToolNames, renameArguments, spellings, toolsSelectedBy } from './names.ts'
export { fromPhi, fromPhiMessage, phiErrorText, toPhi, toPhiEvents, toPhiMessage, toPhiTool } from './phi.ts'
export type { PhiEvent, PhiTool, PhiToolError, PhiToolResult, PhiToolResultMessage } from './phi.ts'
export {
  completeOutcome, noteOfCut, textOfBlock, textOfContent, textOfData, type CarriedMetadata, type EventContext,
  type Reading,
} from './reading.ts'
export {
  fromSteerable, fromSteerableCall, isTerminalOutcome, isTerminalResult, steerableToolCall, steerableToolResult,
  toSteerable, toSteerableEvents,
} from './steerable.ts'
export type { SteerableEvent, SteerableToolCall, SteerableToolResult } from './steerable.ts'
export {
  fromStud, toStud, toStudEvent, toStudTool, type StudEvent, type StudResult, type StudTool,
} from './stud.ts'
