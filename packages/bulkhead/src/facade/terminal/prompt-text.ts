import { styleText } from 'node:util'
import type { ApprovalRequest, InteractionRequest } from '@bulkhead/contract'
import { visibleText } from '@bulkhead/kit/text'

export interface Screen {
  readonly columns: number
  readonly rows: number
}

/** Defaults to 80 by 24 if the stream does not report a size. */
export function screenOf(
  output: { readonly columns?: number | undefined; readonly rows?: number | undefined },
): Screen {
  return { columns: Math.max(output.columns || 80, 20), rows: Math.max(output.rows || 24, 16) }
}

/**
 * Wraps untrusted text to screen rows. Each row starts with a prefix, `first` or, for a continued line, `next`. If the
 * terminal wrapped the text, untrusted text could start a row without a prefix and imitate the prompt.
 */
function rowsOf(text: string, { columns }: Screen, first: string, next: string): readonly string[] {
  return visibleText(text, { keepLines: true }).replaceAll('\t', '    ').split('\n').flatMap((line) => {
    const pieces = broken(line, columns - 1 - Math.max(first.length, next.length))
    return pieces.map((piece, index) => (index === 0 ? first : next) + piece)
  })
}

/** Counts every non-ASCII character as two columns, so that the terminal never wraps a row. */
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

/** Columns of a prompt before an answer, with some margin. */
const ANSWER_COLUMNS = 8
/** For how long it holds. */
const END_COLUMNS = 34

/** An answer in one row, without its middle if it is long: in a second row it could imitate the prompt. */
export function answerRow(text: string, { columns }: Screen): string {
  const width = columns - ANSWER_COLUMNS
  const shown = visibleText(text)
  const [whole] = broken(shown, width)
  if (whole === shown) return shown
  const end = Math.min(END_COLUMNS, Math.floor(width / 2))
  const [head = ''] = broken(shown, width - end - 2)
  const [tail = ''] = broken(Array.from(shown).toReversed().join(''), end)
  return `${head}…${Array.from(tail).toReversed().join('')}`
}

/** Keeps rows from both ends and replaces the middle with a note about the hidden rows. */
function clipped(rows: readonly string[], room: number): readonly string[] {
  if (rows.length <= room) return rows
  const tail = Math.min(3, Math.floor(room / 3))
  const hidden = rows.slice(room - tail - 1, rows.length - tail)
  const chars = hidden.reduce((sum, row) => sum + row.length, 0)
  const note = `  … ${hidden.length} rows with about ${chars} characters are hidden here …`
  return [...rows.slice(0, room - tail - 1), note, ...rows.slice(rows.length - tail)]
}

export interface ApprovalText {
  /** Fits on the screen together with the prompt. Notes mark hidden rows. */
  readonly short: string
  /** Everything. */
  readonly whole: string
  readonly isCut: boolean
}

/** Rows for the prompt besides the answers, with some margin. */
const PROMPT_ROWS = 10
const LIST_ROWS = 5
const LEAST_ARGUMENT_ROWS = 6
/** For the arguments: a heading, and a note that they are hidden. */
const LEAST_ROWS_AFTER_DIFF = 2

/** The text of an approval prompt: tool, effects, permissions, reasons, the diff if it is known, and exact arguments. */
export function approvalText(approval: ApprovalRequest, screen: Screen): ApprovalText {
  const { origin, calledBy = [], argumentsText, touches, mayTouch, reasons, approvalKey, keyByTool } = approval
  const leavesOut = leftOutWords(approval)
  const undo = approval.notRecorded === undefined ? [] : [`not recorded: ${approval.notRecorded}`]
  const labelled = (label: string, texts: readonly string[]) =>
    texts.flatMap((line, index) => {
      const first = (index === 0 ? label : '').padEnd(LABEL)
      return rowsOf(visibleText(line), screen, `  ${first}`, `  ${':'.padEnd(LABEL)}`)
    })
  const { rows: [heading = '', ...more], namesEffect } = headingOf(approval, screen)
  const head = [styleText('bold', heading), ...more]
  const lists = [
    labelled('from:', [origin]), labelled('for:', approval.principal ? [approval.principal.id] : []), labelled('called by:', calledBy), labelled('would:', namesEffect ? [] : touches),
    labelled('may:', mayTouch), labelled('undo:', undo), labelled('because:', reasons),
    labelled('key:', [approvalKey, ...(keyByTool ? [KEY_BY_TOOL] : []), ...leavesOut]),
  ]
  const args = ['  arguments:', ...rowsOf(argumentsText, screen, '  | ', '  : ')]
  const diff = approval.diff === undefined ? [] : ['  diff:', ...rowsOf(approval.diff.trimEnd(), screen, '  | ', '  : ')]
  const shortLists = lists.map((rows) => clipped(rows, LIST_ROWS)).flat()
  const room = Math.max(screen.rows - PROMPT_ROWS - approval.answers.length - head.length - shortLists.length, LEAST_ARGUMENT_ROWS)
  // The diff comes first: the arguments have the same text in one row.
  const shortDiff = clipped(diff, room - LEAST_ROWS_AFTER_DIFF)
  const shortArgs = clipped(args, room - shortDiff.length)
  const short = [...head, ...shortLists, ...shortDiff, ...shortArgs]
  const whole = [...head, ...lists.flat(), ...diff, ...args]
  return { short: textOf(short), whole: textOf(whole), isCut: short.length < whole.length }
}

/** Names the effect if there is only one and it fits on the row. Otherwise the effects are listed below the heading. */
function headingOf({ tool, touches }: ApprovalRequest, screen: Screen) {
  const rowsFor = (effect: string) => rowsOf(visibleText(`Allow \`${tool}\` to ${effect}?`), screen, '', '  : ')
  const named = touches.length === 1 ? rowsFor(touches[0]!) : []
  return named.length === 1 ? { rows: named, namesEffect: true } : { rows: rowsFor('run'), namesEffect: false }
}

/** What an answer for more than this call covers besides the key. */
const leftOutWords = ({ leavesOut = [] }: ApprovalRequest): readonly string[] =>
  leavesOut.length === 0 ? [] : [`(covers any value of: ${leavesOut.join(', ')})`]

/** Shown if the tool made the key, not the host. */
const KEY_BY_TOOL = '(chosen by the tool; it may be the same for every call)'
const LABEL = 11
const textOf = (rows: readonly string[]): string => ['', ...rows, ''].join('\n')

/**
 * The full text of a question. It is printed once, before the prompt, because a repainting prompt would scroll long
 * text off the screen. Untrusted text is quoted row by row, so that it cannot imitate the prompt.
 */
export function questionText(request: Asked, source: string, screen: Screen): string {
  return ['', ...lines(request, source, screen), ''].join('\n')
}

type Asked = Exclude<InteractionRequest, { kind: 'Approve' }>

function lines(request: Asked, source: string, screen: Screen): readonly string[] {
  const quoted = (text: string) => rowsOf(text, screen, '  | ', '  : ')
  const from = (what: string) =>
    rowsOf(visibleText(`${source} ${what}`), screen, '', '  : ').map((row) => styleText('bold', row))
  switch (request.kind) {
    case 'Ask':
    case 'Confirm':
    case 'Select':
    case 'Form':
    case 'Auth.Password':
      return [...from('asks:'), ...quoted(request.prompt)]
    case 'Auth.DeviceCode':
      return [...from('wants you to sign in. Open'), ...quoted(request.url), 'and enter', ...quoted(request.code)]
    case 'trustProject':
      return ['The project in', ...quoted(request.path), ...quoted(request.summary)]
    case 'grantStageTool':
      return [
        'The current stage', ...quoted(request.stage), 'does not list this tool.',
        approvalText(request.approval, screen).whole,
      ]
  }
}
