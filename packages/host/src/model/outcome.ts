import { ERRORS, type BulkheadError, type Completion, type ErrorOutcome } from '@bulkhead/contract'
import { isLasting } from './retries.ts'
import { givesAdvice } from '@bulkhead/kit/text'

/** An error of the host or of a tool as text for a model: what happened, where, and what to do. */
export function errorBody(error: BulkheadError): Omit<ErrorOutcome, 'metadata'> {
  return {
    type: 'error',
    error_text: errorText(error),
    error: {
      code: error.code,
      class: error.class,
      retryable: error.retryable,
      ...(error.data === undefined ? {} : { data: error.data }),
    },
    completion: completionOf(error),
  }
}

/**
 * What happened, and what to do. The message of a tool is unchanged, and so is one that gives advice. A second attempt
 * does not help against a fault that lasts, whatever its code.
 */
function errorText(error: BulkheadError): string {
  const { code, message } = error
  const text = message.trimEnd()
  if (code === 'ResourceBusy' && isLasting(error)) return text
  if (code === 'ToolExecutionFailed' || FIXED_TEXTS.has(text) || givesAdvice(text)) return text
  return `${text}${/[.!?:]$/.test(text) ? '' : '.'} ${ERRORS[code].cure}`
}

/** The exact message of a skipped call. Agent loops match it. */
export const SKIPPED_BY_STEERING = 'Skipped due to queued user message.'
export const SKIPPED_BY_HOOK = 'Tool execution skipped by before_tool_execution hook.'
const FIXED_TEXTS: ReadonlySet<string> = new Set([SKIPPED_BY_STEERING, SKIPPED_BY_HOOK])

function completionOf(error: BulkheadError): Completion {
  if (error.code === 'ClarificationNeeded') {
    return { terminal: true, nextAction: 'clarification_needed', message: error.message }
  }
  return endsTheRun(error) ? { terminal: true } : { needsFollowup: true }
}

/** A call that was skipped by steering does not end the run: it continues with the message of the user. */
const endsTheRun = ({ code, class: errorClass }: BulkheadError): boolean =>
  code === 'HostClosed' || (errorClass === 'Cancellation' && code !== 'SkippedBySteering')
