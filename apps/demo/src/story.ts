import { styleText } from 'node:util'
import type { ModelToolCall } from '@bulkhead/bridges/openai'
import type { ApprovalRequest, Outcome } from '@bulkhead/contract'
import { visibleText } from '@bulkhead/kit/text'

/** What the reader sees. */
export interface Story {
  title(text: string): void
  model(text: string): void
  call(call: ModelToolCall): void
  asked(approval: ApprovalRequest, answer: string): void
  progress(text: string): void
  outcome(outcome: Outcome): void
  verdict(faults: readonly string[]): void
}

type Colour = Parameters<typeof styleText>[0]

/** Where what somebody says begins. */
const INDENT = 11

/** `columns` of the screen, where there is one: then the terminal breaks no line by itself. */
export function printedStory(write: (line: string) => void, columns?: number): Story {
  const line = (who: string, colour: Colour, text: string) =>
    write(`  ${styleText(colour, who.padEnd(INDENT - 3))} ${inColumns(visibleText(text), columns).join(`\n${' '.repeat(INDENT)}`)}`)
  return {
    title: (text) => write(`\n${styleText('bold', text)}`),
    model: (text) => line('model', 'cyan', text),
    call: ({ function: { name, arguments: args } }) => line('calls', 'blue', `${name} ${args}`),
    asked: ({ tool, origin, approvalKey }, answer) => line('person', 'magenta', `may ${tool} of ${origin} run for "${approvalKey}"? ${answer}`),
    progress: (text) => line('tool', 'dim', text),
    outcome: (outcome) => outcome.type === 'output'
      ? line('answer', 'green', `${JSON.stringify(outcome.data)} (${Math.round(outcome.metadata.duration_ms)} ms)`)
      : line('refused', 'yellow', `${outcome.error.code}: ${outcome.error_text}`),
    verdict: (faults) => faults.length === 0
      ? line('✓', 'green', 'as it should be')
      : faults.forEach((fault) => line('✗', 'red', fault)),
  }
}

/** Broken after a space, or anywhere in a word that does not fit. */
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
