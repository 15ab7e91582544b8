import { styleText } from 'node:util'
import type { ModelToolCall } from '@bulkhead/bridges/openai'
import type { ApprovalRequest, Outcome } from '@bulkhead/contract'
import { visibleText } from '@bulkhead/kit/text'

/** Prints what happens in a scenario. */
export interface Reporter {
  title(text: string): void
  model(text: string): void
  call(call: ModelToolCall): void
  approval(approval: ApprovalRequest, answer: string): void
  progress(text: string): void
  outcome(outcome: Outcome): void
  verdict(faults: readonly string[]): void
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
    approval: ({ tool, origin, approvalKey }, answer) =>
      line('person', 'magenta', `Allow ${tool} (${origin}) to run for "${approvalKey}"? ${answer}`),
    progress: (text) => line('tool', 'dim', text),
    outcome: (outcome) => outcome.type === 'output'
      ? line('result', 'green', `${JSON.stringify(outcome.data)} (${Math.round(outcome.metadata.duration_ms)} ms)`)
      : line('error', 'yellow', `${outcome.error.code}: ${outcome.error_text}`),
    verdict: (faults) => faults.length === 0
      ? line('✓', 'green', 'as expected')
      : faults.forEach((fault) => line('✗', 'red', fault)),
  }
}

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
