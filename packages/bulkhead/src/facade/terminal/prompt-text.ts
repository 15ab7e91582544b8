import { styleText } from 'node:util'
import type { ApprovalRequest, InteractionRequest } from '@bulkhead/contract'
import { visibleText } from '@bulkhead/kit/text'

/** How much a screen holds. */
export interface Screen {
  readonly columns: number
  readonly rows: number
}

/** Of a stream that does not tell, what every terminal has had. */
export function screenOf(output: { readonly columns?: number | undefined; readonly rows?: number | undefined }): Screen {
  return { columns: Math.max(output.columns || 80, 20), rows: Math.max(output.rows || 24, 16) }
}

/**
 * A stranger's text as rows of the screen. A terminal would break a long line by itself, and what comes after the break would
 * begin a row as if it were ours; so it is broken here, and every row begins with a mark: `first`, or `next` where a line goes on.
 */
export function rowsOf(text: string, { columns }: Screen, first: string, next: string): readonly string[] {
  return visibleText(text, { keepLines: true }).replaceAll('\t', '    ').split('\n').flatMap((line) => {
    const pieces = broken(line, columns - 1 - Math.max(first.length, next.length))
    return pieces.map((piece, index) => (index === 0 ? first : next) + piece)
  })
}

/** What is not plain may be two columns wide, and is counted so: rather broken too early than by the terminal. */
function broken(line: string, width: number): readonly string[] {
  const pieces: string[] = []
  let piece = ''
  let used = 0
  for (const char of line) {
    const wide = char >= ' ' && char <= '~' ? 1 : 2
    if (used + wide > width) {
      pieces.push(piece)
      piece = ''
      used = 0
    }
    piece += char
    used += wide
  }
  return [...pieces, piece]
}

/** As many rows as there is room for, from both ends, and between them how many are missing: what is hidden is said. */
export function clipped(rows: readonly string[], room: number): readonly string[] {
  if (rows.length <= room) return rows
  const tail = Math.min(3, Math.floor(room / 3))
  const hidden = rows.slice(room - tail - 1, rows.length - tail)
  const chars = hidden.reduce((sum, row) => sum + row.length, 0)
  const note = `  … ${hidden.length} rows with about ${chars} characters are left out here …`
  return [...rows.slice(0, room - tail - 1), note, ...rows.slice(rows.length - tail)]
}

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
  const labelled = (label: string, texts: readonly string[]) =>
    texts.flatMap((line, index) => rowsOf(visibleText(line), screen, `  ${(index === 0 ? label : '').padEnd(LABEL)}`, `  ${':'.padEnd(LABEL)}`))
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

/**
 * Everything a person must see before answering, in full and printed once: a prompt that repaints itself would push what is
 * long off the screen. What a stranger wrote is quoted row by row, so that none of it can pass for ours.
 */
export function questionText(request: Asked, source: string, screen: Screen): string {
  return ['', ...lines(request, source, screen), ''].join('\n')
}

type Asked = Exclude<InteractionRequest, { kind: 'Approve' }>

function lines(request: Asked, source: string, screen: Screen): readonly string[] {
  const quoted = (text: string) => rowsOf(text, screen, '  | ', '  : ')
  const said = (what: string) => rowsOf(visibleText(`${source} ${what}`), screen, '', '  : ').map((row) => styleText('bold', row))
  switch (request.kind) {
    case 'Ask':
    case 'Confirm':
    case 'Select':
    case 'Auth.Password':
      return [...said('asks:'), ...quoted(request.prompt)]
    case 'Auth.DeviceCode':
      return [...said('wants you to sign in. Open'), ...quoted(request.url), 'and enter', ...quoted(request.code)]
    case 'trustProject':
      return ['The project in', ...quoted(request.path), ...quoted(request.summary)]
    case 'grantStageTool':
      return ['The work is at the stage', ...quoted(request.stage), 'which does not list this tool.', approvalText(request.approval, screen).whole]
  }
}
