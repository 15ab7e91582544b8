import { JSON_LIMITS, type Json } from '@bulkhead/kit/json'
import type { FunctionCall } from './functions.ts'

/** The part of a streamed response that contains function calls. */
export interface ContentChunk {
  readonly candidates?: readonly {
    readonly content?: { readonly parts?: readonly { readonly functionCall?: FunctionCallPart }[] }
  }[]
}

interface FunctionCallPart extends FunctionCall {
  readonly partialArgs?: readonly PartialArg[]
  /** Whether the next part continues this call. */
  readonly willContinue?: boolean
}

/** A piece of one argument. */
interface PartialArg {
  readonly jsonPath?: string
  readonly stringValue?: string
  readonly numberValue?: number
  readonly boolValue?: boolean
  readonly nullValue?: string
}

interface OpenCall {
  readonly id: string | undefined
  readonly name: string | undefined
  readonly args: Container
}

type Container = Record<string, unknown> | unknown[]

/**
 * Assembles the function calls of a streamed response. Most calls arrive in one part. With `streamFunctionCallArguments`
 * their arguments arrive in pieces. Reads the first candidate only.
 */
export class FunctionCallStream {
  readonly #calls: FunctionCall[] = []
  #open: OpenCall | undefined
  #chars = 0

  /** Returns the calls that the chunk completes. */
  add({ candidates = [] }: ContentChunk): readonly FunctionCall[] {
    const before = this.#calls.length
    for (const { functionCall } of candidates[0]?.content?.parts ?? []) if (functionCall) this.#take(functionCall)
    return this.#calls.slice(before)
  }

  /** The calls of the response. Contract: the stream has ended. */
  calls(): FunctionCall[] {
    this.#close()
    return [...this.#calls]
  }

  #take({ id, name, args, partialArgs = [], willContinue = false }: FunctionCallPart): void {
    // Only the first part of a call has a name.
    if (name) this.#close()
    this.#open ??= { id, name, args: Object.assign(newObject(), args) }
    for (const piece of partialArgs) this.#addPiece(this.#open.args, piece)
    if (!willContinue) this.#close()
  }

  #close(): void {
    if (!this.#open) return
    const { id, name, args } = this.#open
    this.#open = undefined
    this.#calls.push({ ...(id && { id }), ...(name && { name }), args: args as Record<string, unknown> })
  }

  /** Bounded: beyond the limit of one JSON value nothing more is taken, and the host rejects the incomplete call. */
  #addPiece(args: Container, { jsonPath = '', stringValue, numberValue, boolValue, nullValue }: PartialArg): void {
    this.#chars += jsonPath.length + (stringValue?.length ?? 8)
    const path = this.#chars > JSON_LIMITS.maxChars ? undefined : readPath(jsonPath)
    const value: Json | undefined = stringValue ?? numberValue ?? boolValue ?? (nullValue === undefined ? undefined : null)
    if (path && value !== undefined) place(args, path, value)
  }
}

/** Keys come from the model, so no object has a prototype. */
const newObject = (): Record<string, unknown> => Object.create(null) as Record<string, unknown>

const STEP = /\.([A-Za-z_$][\w$]*)|\[(\d{1,6})\]|\['((?:[^'\\]|\\.)*)'\]|\["((?:[^"\\]|\\.)*)"\]/y

/** The steps of a JSON Path such as `$.list[0]['a b']`. undefined for any other expression. */
function readPath(path: string): readonly (string | number)[] | undefined {
  if (!path.startsWith('$')) return undefined
  const steps: (string | number)[] = []
  STEP.lastIndex = 1
  while (STEP.lastIndex < path.length) {
    const found = STEP.exec(path)
    if (!found || steps.length >= JSON_LIMITS.maxDepth) return undefined
    const [, name, index, single, double] = found
    steps.push(index === undefined ? name ?? (single ?? double ?? '').replaceAll(/\\(.)/g, '$1') : Number(index))
  }
  return steps.length === 0 ? undefined : steps
}

/** Text is appended to text at the same place. What does not fit is dropped. */
function place(root: Container, path: readonly (string | number)[], value: Json): void {
  let at: Container = root
  for (const [depth, step] of path.entries()) {
    if (Array.isArray(at) !== (typeof step === 'number') || (Array.isArray(at) && Number(step) > at.length)) return
    const holder = at as Record<string | number, unknown>
    const next = path[depth + 1]
    if (next === undefined) {
      const before = holder[step]
      holder[step] = typeof before === 'string' && typeof value === 'string' ? before + value : value
      return
    }
    holder[step] ??= typeof next === 'number' ? [] : newObject()
    const below = holder[step]
    if (typeof below !== 'object' || below === null) return
    at = below as Container
  }
}
