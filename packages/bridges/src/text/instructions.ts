import type { Outcome, ToolDefinition } from '@bulkhead/contract'
import { visibleJson } from '@bulkhead/kit/text'
import { resultText } from '../models/result-parts.ts'
import type { TextCallError } from './answer.ts'

/**
 * A section of a prompt for a model without tool calling: how to call tools, and the tools. Each tool is one line of
 * JSON, so that a description from outside cannot pass for another tool or for instructions of yours.
 */
export function toInstructions(tools: readonly ToolDefinition[]): string {
  const lines = tools.map(({ name, description, inputSchema }) =>
    visibleJson(JSON.stringify({ name, description, arguments: inputSchema })))
  return [
    '# Tools', '',
    'You can call tools. To call one, write a block like this, with its name and its arguments as JSON:', '',
    '```tool_call', '{"name": "the_tool", "arguments": {"argument": "value"}}', '```', '',
    'The arguments must match the JSON Schema of the tool. You may write several blocks. After the last one, stop: the',
    'results come in the next message. To answer without a tool, write no such block.', '',
    'The tools, one in each line:', ...lines, '',
  ].join('\n')
}

/** The next message to the model: the results of its calls, and the calls that could not be read. */
export const toResultsMessage = (outcomes: readonly Outcome[], errors: readonly TextCallError[] = []): string => [
  ...outcomes.map((outcome) =>
    block({ name: outcome.metadata.tool, status: outcome.type === 'error' ? 'error' : 'ok' }, resultText(outcome))),
  ...errors.map(({ code, message }) => block({ status: 'error', code }, message)),
].join('\n\n')

function block(head: Readonly<Record<string, string>>, text: string): string {
  const fence = fenceFor(text)
  return `${fence}tool_result\n${visibleJson(JSON.stringify(head))}\n${text}\n${fence}`
}

/** Longer than any fence in the text, so that a result cannot end its block. */
function fenceFor(text: string): string {
  const longest = (text.match(/`+/g) ?? []).reduce((most, run) => Math.max(most, run.length), 2)
  return '`'.repeat(longest + 1)
}
