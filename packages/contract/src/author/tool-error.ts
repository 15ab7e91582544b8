import type { Json } from '@bulkhead/kit/json'

/**
 * Sets the error code of the call, instead of ToolExecutionFailed. Any thrown error with a known `code` does the same.
 */
export class ToolError extends Error {
  override readonly name = 'ToolError'
  readonly code: string
  readonly data: Json | undefined

  constructor(
    code: 'ToolExecutionFailed' | 'NotFound' | 'ResourceBusy' | 'InputInvalid', message: string, data?: Json,
  ) {
    super(message)
    this.code = code
    this.data = data
  }
}
