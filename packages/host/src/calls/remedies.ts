import { ERRORS, type ErrorCode } from '@bulkhead/contract'
import type { DecisionStage } from '../policy/verdict.ts'

export type DecidingStage = 'receive' | 'resolve' | 'validate' | DecisionStage | 'audit'

export interface RemedyContext {
  readonly source: string
  readonly tool: string
  readonly approvalKey: string
  /** Third-party code made the key. */
  readonly keyByTool?: boolean | undefined
  /** Whether a rule that allows would answer all that ask. */
  readonly answeredByRule?: boolean | undefined
}

const NOTHING: RemedyContext = { source: '', tool: '', approvalKey: '' }

/** What would change what a stage says, each a thing to do. */
export function remedies(stage: DecidingStage, code: ErrorCode, context: RemedyContext = NOTHING): readonly string[] {
  const { source, tool, keyByTool, answeredByRule, approvalKey } = context
  switch (stage) {
    case 'receive':
      return ['Give the call an id and the name of a tool.']
    case 'resolve':
      return code === 'ToolsDisabled' ? ['Switch the tool on in the configuration.'] : ['Call a tool that is listed.']
    case 'validate':
      return ['Send arguments that satisfy the input schema of the tool.']
    case 'capability':
      return ['Raise the ceiling, or call a tool that can do less.']
    case 'role':
      return [`Turn on the ${source}.`]
    case 'rules':
      return [`Change or remove the ${source}.`]
    case 'state-machine':
      return [`Wait for a stage of the ${source} that lists "${tool}", or have a person grant the call.`]
    case 'watchdog':
    case 'guard':
      return [`Change the arguments so that the ${source} has nothing against them.`]
    case 'tool-mode':
    case 'security-mode':
      return [
        `Approve of the key "${approvalKey}" for the session${keyByTool ? '' : ' or the project'}.`,
        `Put "${tool}:${approvalKey}" on the allowlist, and set the mode to allowlist.`,
        ...(answeredByRule ? [`Add a rule that allows "${tool}" for this key.`] : []),
      ]
    case 'budget':
    case 'audit':
      return [ERRORS[code].cure]
    case 'approval':
      if (source === 'headless') return ['Open the session with somebody who can be asked.']
      return [code === 'ApprovalDenied' ? 'Ask again.' : ERRORS[code].cure]
  }
}
