/** Foreign shapes of results, calls, names and events, and ours. Pure: nothing here decides anything. */
export { acceptReturn, readReturn } from './accept.ts'
export { fromCanonical } from './canonical.ts'
export { toPhiEvent, toSteerableEvent, toStudEvent } from './events.ts'
export type { EventContext, PhiEvent, SteerableEvent, StudEvent } from './events.ts'
export { fromGrida, toGrida, type GridaEnvelope } from './grida.ts'
export { fromMcp } from './mcp.ts'
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
