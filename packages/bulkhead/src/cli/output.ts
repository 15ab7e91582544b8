import { styleText } from 'node:util'
import { BulkheadError, ERRORS } from '@bulkhead/contract'
import { givesAdvice, visibleJson, visibleText } from '@bulkhead/kit/text'
import { UsageError } from './command.ts'

const GAP = '  '
/** A last column that is narrower is hard to read: its text goes below the row. */
const LEAST_LAST = 24
const NOTHING = '-'

/**
 * Columns as wide as they need to be; the last takes what is left. Text of strangers is made visible first. On a terminal that is
 * too narrow, columns that say nothing are left out and the last cells of a row go on below it, so that the terminal breaks nothing
 * by itself; for whoever reads a pipe a row stays one line.
 */
export function table(headings: readonly string[], rows: readonly (readonly string[])[], columns: number | undefined = process.stdout.columns): string {
  const whole = [headings, ...rows.map((row) => row.map((cell) => visibleText(cell)))]
  const wide = Math.max(...layOut(whole, undefined).map(({ length }) => length))
  const [first, ...lines] = columns === undefined || wide <= columns ? layOut(whole, undefined) : layOut(telling(whole), columns)
  return [styleText('bold', first!), ...lines].join('\n') + '\n'
}

function layOut(rows: readonly (readonly string[])[], columns: number | undefined): readonly string[] {
  const widths = rows[0]!.map((_, index) => Math.max(...rows.map((row) => row[index]?.length ?? 0)))
  const beside = columnsBeside(widths, columns)
  const before = widths.slice(0, beside).reduce((sum, width) => sum + width + GAP.length, 0)
  return rows.map((cells) => {
    const start = cells.slice(0, beside).map((cell, index) => cell.padEnd(widths[index]!) + GAP).join('')
    const rest = cells.slice(beside, cells.at(-1) === NOTHING ? -1 : undefined).join(GAP)
    if (beside === cells.length - 1) {
      const last = cells.at(-1) ?? ''
      if (columns === undefined || before + last.length <= columns) return start + last
      if (columns - before >= LEAST_LAST) return start + words(last, columns - before).join(`\n${' '.repeat(before)}`)
    }
    return [start.trimEnd(), ...(rest === '' ? [] : words(rest, columns! - 4).map((text) => `    ${text}`))].join('\n')
  })
}

/** How many of the first columns stand in the row itself: all but the last, where there is room for them; one in any case. */
function columnsBeside(widths: readonly number[], columns = Number.POSITIVE_INFINITY): number {
  let room = columns
  const full = widths.findIndex((width) => (room -= width + GAP.length) + GAP.length < 0)
  return Math.max(1, Math.min(full < 0 ? widths.length : full, widths.length - 1))
}

/** Without the columns in which no row says anything. */
function telling(rows: readonly (readonly string[])[]): readonly (readonly string[])[] {
  const told = rows[0]!.map((_, index) => rows.slice(1).some((row) => row[index] !== NOTHING))
  return rows.map((row) => row.filter((_, index) => told[index]))
}

/** A text in lines of at most `width`, broken between words; a word that is longer stands in a line of its own. */
function words(text: string, width: number): readonly string[] {
  const lines: string[] = []
  for (const word of text.split(' ')) {
    const line = lines.at(-1)
    if (line !== undefined && line.length + 1 + word.length <= width) lines[lines.length - 1] = `${line} ${word}`
    else lines.push(word)
  }
  return lines
}

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
