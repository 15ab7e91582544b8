import { randomUUID } from 'node:crypto'
import type { ToolDefinition } from '@bulkhead/contract'
import { canonicalCall, canonicalToolName } from '@bulkhead/contract/dialects'
import { isJsonObject, parseJson, type Json, type JsonObject } from '@bulkhead/kit/json'
import { parseArguments, type HostCall } from '../models/host-call.ts'
import { jsonValues, type FoundJson } from './json-values.ts'

/** What a model answered. */
export interface TextAnswer {
  /** In the order of the answer, each with a new id. */
  readonly calls: readonly HostCall[]
  /** Calls that could not be read. Send their messages back with `toResultsMessage`. */
  readonly errors: readonly TextCallError[]
  /** The answer without its calls. */
  readonly prose: string
}

export interface TextCallError {
  readonly code: 'InvalidJson' | 'MissingName' | 'TooManyCalls' | 'TooLarge'
  /** For the model: what is wrong, and what to do. */
  readonly message: string
}

export interface TextAnswerOptions {
  /** The available tools. Without them, every JSON object with a name and arguments is a call. */
  readonly tools?: readonly ToolDefinition[]
}

const MAX_CHARS = 1_000_000
const MAX_CALLS = 64

/**
 * Finds the tool calls in the answer of a model: in fenced blocks, in tags such as `<tool_call>`, or as bare JSON
 * between sentences. JSON that is not marked as a call counts only if it names one of the tools. Thoughts are ignored.
 * Contract: never throws, and takes time in proportion to the text.
 */
export function fromAnswer(text: string, { tools }: TextAnswerOptions = {}): TextAnswer {
  if (text.length > MAX_CHARS) return { calls: [], errors: [TOO_LARGE], prose: text.slice(0, MAX_CHARS) }
  const body = withoutThoughts(text)
  const reader = new CallReader(tools)
  const spans = jsonValues(body).filter((value) => reader.read(value))
  return { calls: reader.calls, errors: reader.errors, prose: without(body, spans) }
}

const TOO_LARGE: TextCallError = {
  code: 'TooLarge',
  message: `The answer is longer than ${MAX_CHARS} characters, so that its tool calls were not read. Answer briefly.`,
}

/** What follows the thoughts of a reasoning model. Some models write only the end of them. */
function withoutThoughts(text: string): string {
  const end = text.lastIndexOf('</think>')
  const rest = end === -1 ? text : text.slice(end + '</think>'.length)
  const start = rest.indexOf('<think>')
  return start === -1 ? rest : rest.slice(0, start)
}

const NAME_KEYS = ['name', 'tool', 'tool_name', 'function'] as const
const ARGUMENT_KEYS = ['arguments', 'parameters', 'args', 'input'] as const
/** Invalid JSON without a mark is reported only if it begins like a call. */
const LIKE_A_CALL = /^[[{\s]{1,20}"(?:name|tool|tool_name|tool_calls|function)"\s{0,20}:/

class CallReader {
  readonly calls: HostCall[] = []
  readonly errors: TextCallError[] = []
  readonly #tools: readonly ToolDefinition[] | undefined

  constructor(tools: readonly ToolDefinition[] | undefined) {
    this.#tools = tools
  }

  /** Whether the value is a call, valid or not. */
  read({ json, isMarked }: FoundJson): boolean {
    const parsed = parseJson(json)
    if (!parsed.ok) {
      if (!isMarked && !LIKE_A_CALL.test(json)) return false
      this.#fail('InvalidJson', `A tool call ${parsed.fault.message}. Write it again as one valid JSON object.`)
      return true
    }
    const found = candidates(parsed.value)
    const isCall = isMarked || (found.length > 0 && found.every((one) => this.#isKnown(one)))
    if (isCall) for (const one of found) this.#add(one)
    return isCall
  }

  #isKnown(candidate: Json): boolean {
    const name = nameOf(candidate)
    if (name === undefined || argumentsOf(candidate) === undefined) return false
    const tools = this.#tools
    if (tools === undefined) return true
    const has = (known: string): boolean => tools.some((tool) => tool.name === known)
    return has(canonicalToolName(name, has))
  }

  #add(candidate: Json): void {
    const name = nameOf(candidate)
    if (name === undefined) {
      this.#fail('MissingName', 'A tool call has no name. Write it as {"name": …, "arguments": {…}}.')
    } else if (this.calls.length >= MAX_CALLS) {
      this.#fail('TooManyCalls', `Only the first ${MAX_CALLS} tool calls were read. Send the others again.`)
    } else {
      const call = { id: `text_${randomUUID()}`, name, arguments: argumentsOf(candidate) ?? {} }
      this.calls.push(canonicalCall(call, (known) => this.#tools?.find((tool) => tool.name === known)))
    }
  }

  /** Each code once: one message is enough for the model to try again. */
  #fail(code: TextCallError['code'], message: string): void {
    if (!this.errors.some((error) => error.code === code)) this.errors.push({ code, message })
  }
}

/** The calls that a value may be: itself, the items of a list, or those of `tool_calls`. */
function candidates(value: Json): readonly Json[] {
  if (Array.isArray(value)) return value as readonly Json[]
  const listed = isJsonObject(value) ? value['tool_calls'] : undefined
  return Array.isArray(listed) ? listed as readonly Json[] : [value]
}

/** The object that has name and arguments. Some models write it below `function`. */
function inner(candidate: Json): JsonObject {
  if (!isJsonObject(candidate)) return {}
  return isJsonObject(candidate['function']) ? candidate['function'] : candidate
}

const nameOf = (candidate: Json): string | undefined =>
  NAME_KEYS.map((key) => inner(candidate)[key]).find((name) => typeof name === 'string' && name !== '') as
    string | undefined

/** Some models write the arguments as JSON in a string. */
function argumentsOf(candidate: Json): Json | undefined {
  const found = ARGUMENT_KEYS.map((key) => inner(candidate)[key]).find((args) => args !== undefined)
  return typeof found === 'string' ? parseArguments(found) : found
}

function without(text: string, spans: readonly FoundJson[]): string {
  const ends = [0, ...spans.map(({ end }) => end)]
  const starts = [...spans.map(({ start }) => start), text.length]
  return starts.map((start, index) => text.slice(ends[index], start).trim()).filter((part) => part !== '').join('\n\n')
}
