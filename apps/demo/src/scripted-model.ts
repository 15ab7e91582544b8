import type { FunctionTool, ModelToolCall, ModelToolMessage } from '@bulkhead/bridges/openai'

/** One turn of a model: text and tool calls. A turn without calls ends the conversation. */
export interface ModelTurn {
  readonly text: string
  readonly calls: readonly ModelToolCall[]
}

/** The part of a model that the agent loop needs. */
export interface Model {
  turn(tools: readonly FunctionTool[], answers: readonly ModelToolMessage[]): ModelTurn
}

/** Yields one turn at a time and receives the results of its calls. Needs no network and is deterministic. */
export type Script = Generator<ModelTurn, ModelTurn, readonly ModelToolMessage[]>

export function scriptedModel(script: () => Script): Model {
  const turns = script()
  return {
    turn(_tools, answers) {
      return turns.next(answers).value
    },
  }
}

let calls = 0
export const wants = (text: string, name: string, args: object): ModelTurn =>
  ({ text, calls: [{ id: `call-${++calls}`, type: 'function', function: { name, arguments: JSON.stringify(args) } }] })
export const says = (text: string): ModelTurn => ({ text, calls: [] })
