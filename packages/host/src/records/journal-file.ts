import type { Notebook, OutcomeOrigin, ToolDefinition } from '@bulkhead/contract'
import { isJsonObject, parseJson, type Json, type JsonObject } from '@bulkhead/kit/json'

/** A call as the journal records it. */
export interface JournalledCall {
  readonly id: string
  readonly name: string
  readonly session: { readonly id: string }
  readonly tool: {
    readonly origin: OutcomeOrigin
    readonly definition: Pick<ToolDefinition, 'effects' | 'verify'>
  }
  /** Where the outcome of a call with an idempotency key is kept. */
  readonly outcomeAt?: string | undefined
}

/** Something that a call began and that can have an effect. */
export interface BegunEffect {
  readonly attempt: number
  /** Milliseconds since 1970. */
  readonly at: number
  /** In words, such as `writes src/a.ts`. */
  readonly what: string
  /** The step of the call that it belongs to. */
  readonly step?: string
}

/** The common part of the calls of one tool in one session. It is most of the data, and written once. */
interface Form {
  readonly sessionId: string
  readonly tool: string
  readonly origin: OutcomeOrigin
  /** The number of its note, which the notes of calls refer to. */
  readonly number: number
  /** How many open calls use it. */
  calls: number
}

/** Forms beyond this are kept only while calls use them. */
const MOST_FORMS = 256

/** Calls as notes: `[form, callId, startedAt, begun?, outcomeAt?]`. A form is its data and its number. */
export class JournalFile {
  readonly #notebook: Notebook
  /** By session. */
  readonly #known = new Map<string, Form[]>()
  #forms = 0
  /** Of the call with that number. */
  readonly #formOf: (Form | undefined)[] = []
  #count = 0
  /** Numbers that are free again. */
  readonly #free: number[] = []

  constructor(notebook: Notebook) {
    this.#notebook = notebook
  }

  /** Returns its number. Throws StoreUnavailable. */
  put(
    { session: { id: sessionId }, id, name, tool, outcomeAt }: JournalledCall, startedAt: number,
    begun: readonly BegunEffect[] = [],
  ): number {
    const form = this.#knownForm(sessionId, name, tool.origin) ?? this.#putForm(sessionId, name, tool)
    const number = this.#free.pop() ?? ++this.#count
    this.#notebook.put(number, textOf(form, id, startedAt, begun, outcomeAt))
    form.calls++
    this.#formOf[number] = form
    return number
  }

  /** Replaces the note of a call by one with what it began. Throws StoreUnavailable. */
  replace(number: number, { id, outcomeAt }: JournalledCall, startedAt: number, begun: readonly BegunEffect[]): void {
    this.#notebook.put(number, textOf(this.#formOf[number]!, id, startedAt, begun, outcomeAt))
  }

  /** Contract: once for each. Throws StoreUnavailable. */
  drop(number: number): void {
    this.#formOf[number]!.calls--
    this.#formOf[number] = undefined
    this.#free.push(number)
    this.#notebook.drop(number)
  }

  /** Throws StoreUnavailable. */
  save(): void {
    this.#notebook.save()
  }

  /** Drops the forms that no call uses. Throws StoreUnavailable. */
  dropUnused(): void {
    const unused: Form[] = []
    for (const [sessionId, forms] of this.#known) {
      const used = forms.filter(({ calls }) => calls > 0)
      if (used.length > 0) this.#known.set(sessionId, used)
      else this.#known.delete(sessionId)
      unused.push(...forms.filter(({ calls }) => calls === 0))
    }
    this.#forms -= unused.length
    for (const { number } of unused) this.#free.push(number)
    for (const { number } of unused) this.#notebook.drop(number)
  }

  #knownForm(sessionId: string, name: string, origin: OutcomeOrigin): Form | undefined {
    const known = this.#known.get(sessionId)
    if (!known) return undefined
    for (const form of known) if (form.origin === origin && form.tool === name) return form
    return undefined
  }

  #putForm(sessionId: string, tool: string, { origin, definition }: JournalledCall['tool']): Form {
    if (this.#forms >= MOST_FORMS) this.dropUnused()
    const number = this.#free.pop() ?? ++this.#count
    this.#notebook.put(number, JSON.stringify({ form: number, sessionId, tool, origin, ...termsOf(definition) }))
    const form: Form = { sessionId, tool, origin, number, calls: 0 }
    this.#known.getOrInsertComputed(sessionId, () => []).push(form)
    this.#forms++
    return form
  }
}

/** Most calls have no more than the first three. */
function textOf(
  { number }: Form, callId: string, startedAt: number, begun: readonly BegunEffect[], outcomeAt: string | undefined,
): string {
  const more = outcomeAt !== undefined ? `,${JSON.stringify(begun)},${JSON.stringify(outcomeAt)}`
    : begun.length > 0 ? `,${JSON.stringify(begun)}` : ''
  return `[${number},${JSON.stringify(callId)},${startedAt}${more}]`
}

/** What the next host must know of the tool. A version that kept no notes of effects wrote neither. */
export const termsOf = (
  { effects, verify }: JournalledCall['tool']['definition'],
): Pick<ToolDefinition, 'effects' | 'verify'> => ({ effects, ...(verify !== undefined && { verify }) })

/** The calls of left-over notes, each as one record. Notes of an unknown form are skipped. */
export function callsIn(texts: readonly string[]): readonly JsonObject[] {
  const values = texts.map((text) => parseJson(text)).flatMap((parsed) => parsed.ok ? [parsed.value] : [])
  const forms =
    new Map(values.filter(isJsonObject).map(({ form, ...same }): [Json | undefined, JsonObject] => [form, same]))
  return values.filter((value) => Array.isArray(value)).flatMap(([number, callId, startedAt, begun, outcomeAt]) => {
    const form = forms.get(number)
    return form && callId !== undefined && startedAt !== undefined ? [{
      ...form, callId, startedAt, ...(begun && { begun }), ...(outcomeAt && { outcomeAt }),
    }] : []
  })
}
