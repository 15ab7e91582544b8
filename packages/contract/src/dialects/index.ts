/** Foreign shapes of results, calls, names and events, and ours. Pure: nothing here decides anything. */
export { acceptReturn, readReturn } from './accept.ts'
export { fromCanonical } from './canonical.ts'
export type { EventContext } from './events/event-context.ts'
export { toPhiEvents, type PhiEvent } from './events/phi.ts'
export { toSteerableEvents, type SteerableEvent } from './events/steerable.ts'
export { toStudEvent, type StudEvent } from './events/stud.ts'
export { fromGrida, toGrida, type GridaEnvelope } from './grida.ts'
export { fromMcp, toMcp, type McpResult } from './mcp.ts'
export { fromMorphix, toMorphix, type MorphixFailure, type MorphixResult, type MorphixSuccess } from './morphix.ts'
export { canonicalToolName, renameArguments } from './names.ts'
export { fromPhi, fromPhiMessage, phiErrorText, toPhi, toPhiMessage } from './phi.ts'
export type { PhiToolError, PhiToolResult, PhiToolResultMessage } from './phi.ts'
export { completeOutcome, type CarriedMetadata, type Reading } from './reading.ts'
export {
  fromSteerable, fromSteerableCall, isTerminalOutcome, steerableToolCall, steerableToolResult, toSteerable,
} from './steerable.ts'
export type { SteerableToolCall, SteerableToolResult } from './steerable.ts'
export { fromStud, toStud, type StudResult } from './stud.ts'
