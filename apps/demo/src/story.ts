import { styleText } from 'node:util'
import type { ModelToolCall } from '@bulkhead/bridges/openai'
import { visibleText, type ApprovalRequest, type Outcome } from '@bulkhead/contract'

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

export function printedStory(write: (line: string) => void): Story {
  const line = (who: string, colour: Colour, text: string) => write(`  ${styleText(colour, who.padEnd(8))} ${visibleText(text)}`)
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
