import { ToolError } from '@bulkhead/contract'
import { PoolError } from '@bulkhead/kit/pool'

/** The error of a tool for a document that a pool could not read. Other errors, such as of a signal, stay as they are. */
export function notRead(what: string, error: unknown, cureOf: (why: string) => string): unknown {
  if (!(error instanceof PoolError)) return error
  const why = error.message.replace(/\.$/, '')
  const isOurs = error.fault === 'busy' || error.fault === 'start'
  if (isOurs) return new ToolError('ResourceBusy', `The ${what} was not read: ${why}.`)
  return new ToolError('ToolExecutionFailed', `The ${what} could not be read: ${why}. ${cureOf(why)}`)
}
