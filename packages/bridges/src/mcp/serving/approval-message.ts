import type { ApprovalRequest } from '@bulkhead/contract'
import { visibleText } from '@bulkhead/kit/text'

/** All that a person must know of a call before answering. Nothing is cut, and what a stranger wrote never begins a row. */
export function approvalMessage({ tool, origin, calledBy = [], touches, mayTouch, reasons, approvalKey, keyByTool, argumentsText }: ApprovalRequest): string {
  const labelled = (label: string, lines: readonly string[]) => lines.map((line) => `${label}: ${visibleText(line)}`)
  return [
    `${tool} of ${visibleText(origin)} wants to run.`,
    ...labelled('called by', calledBy),
    ...labelled('would', touches),
    ...labelled('may', mayTouch),
    ...labelled('asked for', reasons),
    ...labelled('key', [approvalKey]),
    ...(keyByTool ? ['The code of the tool itself chose this key, and may give the same one to every call. It is remembered for this session at most.'] : []),
    'with exactly these arguments:',
    quoted(argumentsText),
  ].join('\n')
}

/** Row by row behind a mark, so that none of it can pass for ours. */
export const quoted = (text: string): string =>
  visibleText(text, { keepLines: true }).split('\n').map((row) => `| ${row}`).join('\n')
