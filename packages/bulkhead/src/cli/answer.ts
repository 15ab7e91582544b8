import { styleText } from 'node:util'
import { BulkheadError, ERRORS, givesAdvice } from '@bulkhead/contract/plain'
import { visibleJson, visibleText } from '@bulkhead/kit/text'
import { UsageError } from './usage-error.ts'

/** JSON for programs, and no less readable for people: nothing in it hides or repaints. */
export const jsonText = (value: unknown): string => `${visibleJson(JSON.stringify(value, null, 2))}\n`

export const printJson = (value: unknown): void => void process.stdout.write(jsonText(value))

/**
 * Runs a command's work; what is refused is told to whoever asked, with what cures it, and the exit code is 1. Rejects for wrong
 * usage only.
 */
export async function answering(json: boolean, work: () => Promise<number>): Promise<number> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof UsageError) throw error
    const fault = BulkheadError.from(error)
    if (json) printJson({ error: faultJson(fault) })
    else process.stderr.write(faultText(fault))
    return 1
  }
}

/** What was refused, and what cures it, for programs. */
export const faultJson = ({ code, message, data }: BulkheadError): object =>
  ({ code, message, cure: ERRORS[code].cure, ...(data !== undefined && { data }) })

/** The same for a person, who reads it on standard error. */
export function faultText({ code, message }: BulkheadError): string {
  const said = `${styleText('red', code, { stream: process.stderr })} ${visibleText(message, { keepLines: true })}\n`
  return givesAdvice(message) ? said : `${said}  cure: ${ERRORS[code].cure}\n`
}
