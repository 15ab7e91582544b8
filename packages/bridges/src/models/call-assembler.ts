import { JSON_LIMITS } from '@bulkhead/kit/json'

/** A tool call of a stream, as far as it has arrived. */
export interface PartialCall {
  /** Where the call stands in the model's message. */
  readonly position: number
  readonly id: string
  readonly name: string
  /** Usually incomplete JSON. */
  readonly text: string
}

type Pieces = Omit<PartialCall, 'position'>
type Mutable = { -readonly [Key in keyof PartialCall]: PartialCall[Key] }

/**
 * Assembles tool calls from a stream. Bounded: beyond the limit of one JSON value nothing more is taken, so that the
 * host rejects the incomplete call.
 */
export class CallAssembler {
  readonly #calls = new Map<number, Mutable>()
  #chars = 0

  /** What is known of the call at a position. Ids and names replace earlier ones, text is appended. */
  add(position: number, { id = '', name = '', text = '' }: Partial<Pieces>): PartialCall | undefined {
    // Stays over the limit: a later, shorter piece must not close the gap.
    this.#chars += id.length + name.length + text.length + 1
    if (this.#chars > JSON_LIMITS.maxChars) return undefined
    const call = this.#calls.get(position) ?? { position, id: '', name: '', text: '' }
    this.#calls.set(position, call)
    if (id !== '') call.id = id
    if (name !== '') call.name = name
    call.text += text
    return { ...call }
  }

  /** Replaces the text of a call with what the API sends at its end. */
  finish(position: number, text: string): PartialCall | undefined {
    const call = this.#calls.get(position)
    if (call === undefined || this.#chars + text.length > JSON_LIMITS.maxChars) return undefined
    call.text = text
    return { ...call }
  }

  /** All calls, by position. */
  calls(): readonly PartialCall[] {
    return [...this.#calls.values()].toSorted((a, b) => a.position - b.position).map((call) => ({ ...call }))
  }
}
