import { CallAssembler, type PartialCall } from '../models/call-assembler.ts'
import { parseArguments } from '../models/host-call.ts'
import type { ToolUseBlock } from './messages.ts'

/** The events of a streamed message that concern tool calls, and any other. */
export type MessageEvent =
  | { readonly type: 'content_block_start'; readonly index: number; readonly content_block: ToolUseBlock | OtherBlock }
  | { readonly type: 'content_block_delta'; readonly index: number; readonly delta: InputDelta | OtherBlock }
  | OtherBlock

interface InputDelta {
  readonly type: 'input_json_delta'
  readonly partial_json: string
}

interface OtherBlock {
  readonly type: string
}

/** Assembles the tool calls of a streamed message. */
export class ToolUseStream {
  readonly #assembler = new CallAssembler()
  /** The input of blocks that have no deltas, by position. Tools of the provider have deltas too, and no entry here. */
  readonly #blocks = new Map<number, ToolUseBlock>()

  /** Returns the call that the event continues, with all of its arguments so far. */
  add(event: MessageEvent): PartialCall | undefined {
    if ('content_block' in event && isToolUse(event.content_block)) {
      const { id, name } = event.content_block
      const call = this.#assembler.add(event.index, { id, name })
      if (call !== undefined) this.#blocks.set(event.index, event.content_block)
      return call
    }
    if (!('delta' in event) || !isInput(event.delta) || !this.#blocks.has(event.index)) return undefined
    return this.#assembler.add(event.index, { text: event.delta.partial_json })
  }

  /** The calls of the message. Contract: the stream has ended. */
  calls(): ToolUseBlock[] {
    return this.#assembler.calls().map(({ position, id, name, text }) =>
      ({ type: 'tool_use', id, name, input: text === '' ? this.#blocks.get(position)?.input : parseArguments(text) }))
  }
}

const isToolUse = (block: ToolUseBlock | OtherBlock): block is ToolUseBlock => block.type === 'tool_use'
const isInput = (delta: InputDelta | OtherBlock): delta is InputDelta => delta.type === 'input_json_delta'
