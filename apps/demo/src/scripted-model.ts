import type { FunctionTool, ModelToolCall, ModelToolMessage } from '@bulkhead/bridges/openai'

/** What a model says in one turn: a text, and the tools it wants. No calls: it is done. */
export interface ModelTurn {
  readonly text: string
  readonly calls: readonly ModelToolCall[]
}

/** A model as far as an agent loop knows one. */
export interface Model {
  turn(tools: readonly FunctionTool[], answers: readonly ModelToolMessage[]): ModelTurn
}

/** The lines of a play: each is spoken after the answers to the one before. Needs no network and never changes its mind. */
export type Script = Generator<ModelTurn, ModelTurn, readonly ModelToolMessage[]>

export function scriptedModel(script: () => Script): Model {
  const lines = script()
  return {
    turn(_tools, answers) {
      return lines.next(answers).value
    },
  }
}

let calls = 0
export const wants = (text: string, name: string, args: object): ModelTurn =>
  ({ text, calls: [{ id: `call-${++calls}`, type: 'function', function: { name, arguments: JSON.stringify(args) } }] })
export const says = (text: string): ModelTurn => ({ text, calls: [] })
