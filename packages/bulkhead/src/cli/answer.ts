import { styleText } from 'node:util'
import { BulkheadError, ERRORS, givesAdvice, messageOf, visibleJson, visibleText } from '@bulkhead/contract/plain'
import { UsageError } from './usage-error.ts'

/** JSON for programs, and no less readable for people: nothing in it hides or repaints. */
export const jsonText = (value: unknown): string => `${visibleJson(JSON.stringify(value, null, 2))}\n`

export const printJson = (value: unknown): void => void process.stdout.write(jsonText(value))

/**
 * Runs a command's work; what is refused is told to whoever asked, with what cures it, and the exit code is 1. Rejects for wrong
 * usage only.
 */
export async function answering(json: boolean | undefined, work: () => Promise<number>): Promise<number> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof UsageError) throw error
    if (!BulkheadError.is(error)) {
      process.stderr.write(`InternalError ${messageOf(error)}\n`)
      return 1
    }
    const { code, message, data } = error
    const { cure } = ERRORS[code]
    if (json) printJson({ error: { code, message, cure, ...(data !== undefined && { data }) } })
    else {
      const said = `${styleText('red', code, { stream: process.stderr })} ${visibleText(message, { keepLines: true })}\n`
      process.stderr.write(givesAdvice(message) ? said : `${said}  cure: ${cure}\n`)
    }
    return 1
  }
}
