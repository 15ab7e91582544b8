import { styleText } from 'node:util'
import type { ModelToolCall } from '@bulkhead/bridges/openai'
import type { ApprovalRequest, Outcome } from '@bulkhead/contract'
import { visibleText } from '@bulkhead/kit/text'

/** Prints what happens in a scenario. */
export interface Reporter {
  title(text: string): void
  model(text: string): void
  call(call: ModelToolCall): void
  approval(approval: ApprovalRequest, answer: 'session' | 'reject'): void
  operator(text: string): void
  progress(text: string): void
  outcome(outcome: Outcome): void
  verdict(faults: readonly string[], shows: string): void
}

type Colour = Parameters<typeof styleText>[0]

/** The column where the text of each line starts. */
const INDENT = 11

/** Wraps lines at `columns`. Without it, such as for a pipe, lines are not wrapped. */
export function createReporter(write: (line: string) => void, columns?: number): Reporter {
  const line = (who: string, colour: Colour, text: string) => {
    const rows = inColumns(visibleText(text), columns)
    write(`  ${styleText(colour, who.padEnd(INDENT - 3))} ${rows.join(`\n${' '.repeat(INDENT)}`)}`)
  }
  return {
    title: (text) => write(`\n${styleText('bold', text)}`),
    model: (text) => line('model', 'cyan', text),
    call: ({ function: { name, arguments: args } }) => line('calls', 'blue', `${name} ${args}`),
    approval: ({ tool, approvalKey }, answer) =>
      line('you', 'magenta', `Allow ${tool} for "${approvalKey}"? ${answer === 'reject' ? 'no' : 'yes, for this session'}`),
    operator: (text) => line('author', 'dim', text),
    progress: (text) => line('tool', 'dim', text),
    outcome: (outcome) => outcome.type === 'output'
      ? line('result', 'green', cut(JSON.stringify(outcome.data)))
      : line('error', 'yellow', cut(`${outcome.error.code}: ${outcome.error_text}`)),
    verdict: (faults, shows) => faults.length === 0
      ? line('✓', 'green', shows)
      : faults.forEach((fault) => line('✗', 'red', fault)),
  }
}

/** A result is shown in a line or two. */
const MOST_CHARS = 160
const cut = (text: string): string => text.length > MOST_CHARS ? `${text.slice(0, MOST_CHARS - 1)}…` : text

/** Wraps text after a space, or inside a word that is too long. */
function inColumns(text: string, columns = Infinity): readonly string[] {
  const width = Math.max(columns - INDENT, 20)
  const lines: string[] = []
  let rest = text
  while (rest.length > width) {
    const space = rest.lastIndexOf(' ', width)
    const end = space > width / 2 ? space : width
    lines.push(rest.slice(0, end))
    rest = rest.slice(end).trimStart()
  }
  return [...lines, rest]
}
