import { styleText } from 'node:util'
import type { Outcome } from '@bulkhead/contract'
import { textOfBlock } from '@bulkhead/contract/dialects'
import { visibleText } from '@bulkhead/kit/text'
import { traceText, type FailureTraces } from './failure-traces.ts'
import { printJson } from './output.ts'

/** The result of a call on standard output, or its error on standard error. `traces` knows where it was thrown. */
export function printOutcome(outcome: Outcome, json: boolean, traces?: FailureTraces): void {
  if (json) {
    const stack = traces?.takeOwn(outcome)
    printJson(stack === undefined ? outcome : { ...outcome, stack })
  } else if (outcome.type === 'output') {
    const texts = outcome.content?.map((part) => part.type === 'image' ? `[${part.mimeType}]` : textOfBlock(part))
    const text = texts?.join('\n')
      ?? (typeof outcome.data === 'string' ? outcome.data : JSON.stringify(outcome.data, null, 2))
    process.stdout.write(visibleText(text, { keepLines: true }) + '\n')
  } else {
    const code = styleText('red', outcome.error.code, { stream: process.stderr })
    const stack = traceText(traces?.take(outcome) ?? [])
    process.stderr.write(`${code} ${visibleText(outcome.error_text, { keepLines: true })}\n${stack}`)
  }
}
