import { BulkheadError, type ApprovalRequest, type Outcome } from '@bulkhead/contract'
import type { JsonObject } from '@bulkhead/kit/json'
import { createTool, type Tool, type ToolExecutionContext } from '@mastra/core/tools'
import { runCall, type CallApprovals } from '../models/call-approvals.ts'
import { outcomeSchema } from '../models/outcome-schema.ts'
import { OPENAI } from '../models/profiles.ts'
import { carriesCommon, isData, resultParts, resultText, type ResultPart } from '../models/result-parts.ts'
import { sessionTools, type AgentToolsOptions, type AskingSession, type SessionTool } from '../models/session-tools.ts'

/** The part of a session that the tools need. */
export type MastraSession = AskingSession

export interface MastraToolsOptions extends AgentToolsOptions {
  /**
   * Asks for approval by suspending the tool, with the question as payload. Pass the approver that the session was
   * opened with. Without it, the session asks its own person while the tool runs.
   */
  readonly approvals?: CallApprovals
}

/** With what a tool suspends. */
export interface MastraQuestion {
  readonly question: ApprovalRequest | null
}

/** With what a tool has to be resumed. */
export interface MastraAnswer {
  readonly approved: boolean
}

type Context = ToolExecutionContext<MastraQuestion, MastraAnswer>
export type MastraTool = Tool<unknown, Outcome, MastraQuestion, MastraAnswer, Context>

/**
 * The tools of a session for an `Agent`, by name. A tool writes its progress to the stream, and returns its outcome, of
 * which the model gets text, data, images and PDF files. A call that fails is an error of the tool. Throws
 * ConfigInvalid in code mode without `tools`.
 */
export const toMastraTools = (
  session: MastraSession, options: MastraToolsOptions = {},
): Record<string, MastraTool> => Object.fromEntries(
  sessionTools(session, options, OPENAI).map((each) => [each.name, mastraTool(session, each, options.approvals)]),
)

function mastraTool(
  session: MastraSession, { tool, name, schema, callOf }: SessionTool, approvals: CallApprovals | undefined,
): MastraTool {
  return createTool({
    id: name, description: tool.description, inputSchema: described<unknown>(schema as JsonObject),
    ...(tool.outputSchema && { outputSchema: described<Outcome>(outcomeSchema(tool.outputSchema)) }),
    ...(approvals && {
      suspendSchema: described<MastraQuestion>(QUESTION_SCHEMA),
      resumeSchema: described<MastraAnswer>(ANSWER_SCHEMA),
    }),
    async execute(input, context) {
      const { agent, workflow, abortSignal: signal, writer } = context
      const call = callOf(input, agent?.toolCallId ?? crypto.randomUUID())
      const { suspend, resumeData } = agent ?? workflow ?? context
      if (approvals && suspend && resumeData === undefined) {
        const asked = await approvals.ask(session, call)
        if (asked !== undefined) return suspend({ question: asked === true ? null : asked }) as Promise<never>
      }
      const outcome = await runCall(session, call, {
        ...(signal && { signal }),
        onProgress: (progress) => void writer?.write({ type: 'progress', ...progress }).catch(() => undefined),
      }, approvals, resumeData?.approved === true)
      if (outcome.type === 'output') return outcome
      throw new BulkheadError(outcome.error.code, resultText(outcome), { data: outcome.error.data ?? null })
    },
    toModelOutput: modelOutput,
  })
}

const QUESTION_SCHEMA: JsonObject = { type: 'object', properties: { question: { type: ['object', 'null'] } } }
const ANSWER_SCHEMA: JsonObject =
  { type: 'object', properties: { approved: { type: 'boolean' } }, required: ['approved'], additionalProperties: false }

/** A schema that Mastra shows to models and does not enforce: the host validates, with the full schema. */
const described = <Value>(schema: JsonObject) => ({
  '~standard': {
    version: 1 as const, vendor: 'bulkhead', validate: (value: unknown) => ({ value: value as Value }),
    jsonSchema: { input: () => structuredClone(schema), output: () => structuredClone(schema) },
  },
})

function modelOutput(outcome: Outcome) {
  if (isData(outcome)) return { type: 'json', value: outcome.data }
  const parts = resultParts(outcome, carriesCommon)
  return parts.some(({ type }) => type === 'media')
    ? { type: 'content', value: parts.map(contentPart) } : { type: 'text', value: resultText(outcome) }
}

const contentPart = (part: ResultPart) =>
  part.type === 'text' ? part : { type: 'media', mediaType: part.mimeType, data: part.data }
