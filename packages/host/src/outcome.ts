import { ERRORS, type BulkheadError, type ErrorOutcome } from '@bulkhead/contract'

/** An error of the host's making, or of a tool's, as what a model is told: what happened, where, and what to do. */
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
    completion: endsTheRun(error) ? { terminal: true } : { needsFollowup: true },
  }
}

/** Where the tool itself speaks, its words stand alone: the table knows no cure for them. */
function errorText(error: BulkheadError): string {
  if (error.code === 'ToolExecutionFailed') return error.message
  return `${error.message.replace(/\s+$/, '')}${/[.!?:]\s*$/.test(error.message) ? '' : '.'} ${ERRORS[error.code].cure}`
}

/** A call that gave way to a message of the user ends nothing: the run goes on with that. */
const endsTheRun = ({ code, class: errorClass }: BulkheadError): boolean =>
  code === 'HostClosed' || (errorClass === 'Cancellation' && code !== 'SkippedBySteering')
