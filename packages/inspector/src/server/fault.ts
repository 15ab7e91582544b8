import { BulkheadError, type ErrorCode } from '@bulkhead/contract'
import { messageOf } from '@bulkhead/kit/error-message'
import { visibleText } from '@bulkhead/kit/text'
import type { InspectorFault, InspectorFaultCode } from '../protocol.ts'

const STATUS: Readonly<Record<InspectorFaultCode, number>> = {
  SignInNeeded: 401, TokenInvalid: 401, TooManyAttempts: 429, WrongHost: 403, ReadOnly: 403, NotFound: 404,
  MethodNotAllowed: 405, AlreadyAnswered: 409, Changed: 409, InputInvalid: 400, TooLarge: 413, Busy: 503,
  NotSupported: 501, Failed: 500,
}

/** A request that cannot be served. */
export class RequestFault extends Error {
  override readonly name = 'RequestFault'
  readonly code: InspectorFaultCode
  readonly path: string | undefined

  constructor(code: InspectorFaultCode, message: string, path?: string) {
    super(message)
    this.code = code
    this.path = path
  }
}

const OF_HOST: Partial<Record<ErrorCode, InspectorFaultCode>> = {
  NotFound: 'NotFound', InteractionAlreadyAnswered: 'AlreadyAnswered', InputInvalid: 'InputInvalid',
  ConfigInvalid: 'InputInvalid', CapabilityUnavailable: 'NotSupported', ToolNotRegistered: 'NotFound',
}

function codeOf(thrown: unknown): InspectorFaultCode {
  if (thrown instanceof RequestFault) return thrown.code
  return BulkheadError.is(thrown) ? OF_HOST[thrown.code] ?? 'Failed' : 'Failed'
}

/** The answer to a request that failed. */
export function faultResponse(thrown: unknown): Response {
  const code = codeOf(thrown)
  const path = thrown instanceof RequestFault ? thrown.path : undefined
  const body: InspectorFault =
    { error: { code, message: visibleText(messageOf(thrown)), ...(path !== undefined && { path }) } }
  return Response.json(body, { status: STATUS[code] })
}
