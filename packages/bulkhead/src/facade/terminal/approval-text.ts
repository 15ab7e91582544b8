import { styleText } from 'node:util'
import type { ApprovalRequest } from '@bulkhead/contract'
import { visibleText } from '@bulkhead/kit/text'
import { clipped, rowsOf, type Screen } from './rows.ts'

export interface ApprovalText {
  /** As much as the screen holds beside the question; what is left out is said where it is. */
  readonly short: string
  /** Everything. */
  readonly whole: string
  readonly isCut: boolean
  /** Whether its key is remembered for the session at most. */
  readonly forSession: boolean
}

/** The rows that the prompt itself takes, with a few to breathe. */
const PROMPT_ROWS = 10
const LIST_ROWS = 5
const LEAST_ARGUMENT_ROWS = 6

/** What a person must know of a call before answering: who, what it would and may touch, why it asks, and exactly with what. */
export function approvalText(approval: ApprovalRequest, screen: Screen): ApprovalText {
  const { tool, origin, calledBy = [], argumentsText, touches, mayTouch, reasons, approvalKey, keyByTool = false } = approval
  const labelled = (label: string, lines: readonly string[]) =>
    lines.flatMap((line, index) => rowsOf(visibleText(line), screen, `  ${(index === 0 ? label : '').padEnd(LABEL)}`, `  ${':'.padEnd(LABEL)}`))
  const [heading = '', ...more] = rowsOf(visibleText(`${tool} of ${origin} wants to run`), screen, '', '  : ')
  const head = [styleText('bold', heading), ...more]
  const lists = [
    labelled('called by:', calledBy), labelled('would:', touches), labelled('may:', mayTouch), labelled('because:', reasons), labelled('key:', [approvalKey, ...(keyByTool ? [KEY_BY_TOOL] : [])]),
  ]
  const args = ['  with exactly these arguments:', ...rowsOf(argumentsText, screen, '  | ', '  : ')]
  const shortLists = lists.map((rows) => clipped(rows, LIST_ROWS)).flat()
  const room = Math.max(screen.rows - PROMPT_ROWS - head.length - shortLists.length, LEAST_ARGUMENT_ROWS)
  const short = [...head, ...shortLists, ...clipped(args, room)]
  const whole = [...head, ...lists.flat(), ...args]
  return { short: textOf(short), whole: textOf(whole), isCut: short.length < whole.length, forSession: keyByTool }
}

/** Under a key that the host did not make. */
const KEY_BY_TOOL = '(chosen by the tool itself, perhaps the same for every call)'
const LABEL = 11
const textOf = (rows: readonly string[]): string => ['', ...rows, ''].join('\n')
