/** For models without tool calling: tools as part of the prompt, and calls as part of the answer. */
export type { HostCall } from '../models/host-call.ts'
export { fromAnswer, type TextAnswer, type TextAnswerOptions, type TextCallError } from './answer.ts'
export { toInstructions, toResultsMessage } from './instructions.ts'
