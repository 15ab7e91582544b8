import type { Notebook, OutcomeOrigin } from '@bulkhead/contract'
import { isJsonObject, parseJson, type Json, type JsonObject } from '@bulkhead/kit/json'

/** A call as the journal records it. */
export interface JournalledCall {
  readonly id: string
  readonly name: string
  readonly session: { readonly id: string }
  readonly tool: { readonly origin: OutcomeOrigin }
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

/** Calls as notes: `[form, callId, startedAt]`. A form is its data and its number. */
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
  put({ session: { id: sessionId }, id, name, tool: { origin } }: JournalledCall, startedAt: number): number {
    const form = this.#knownForm(sessionId, name, origin) ?? this.#putForm(sessionId, name, origin)
    const number = this.#free.pop() ?? ++this.#count
    this.#notebook.put(number, `[${form.number},${JSON.stringify(id)},${startedAt}]`)
    form.calls++
    this.#formOf[number] = form
    return number
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

  #putForm(sessionId: string, tool: string, origin: OutcomeOrigin): Form {
    if (this.#forms >= MOST_FORMS) this.dropUnused()
    const number = this.#free.pop() ?? ++this.#count
    this.#notebook.put(number, JSON.stringify({ form: number, sessionId, tool, origin }))
    const form: Form = { sessionId, tool, origin, number, calls: 0 }
    this.#known.getOrInsertComputed(sessionId, () => []).push(form)
    this.#forms++
    return form
  }
}

/** The calls of left-over notes, each as one record. Notes of an unknown form are skipped. */
export function callsIn(texts: readonly string[]): readonly JsonObject[] {
  const values = texts.map((text) => parseJson(text)).flatMap((parsed) => parsed.ok ? [parsed.value] : [])
  const forms =
    new Map(values.filter(isJsonObject).map(({ form, ...same }): [Json | undefined, JsonObject] => [form, same]))
  return values.filter((value) => Array.isArray(value)).flatMap(([number, callId, startedAt]) => {
    const form = forms.get(number)
    return form && callId !== undefined && startedAt !== undefined ? [{ ...form, callId, startedAt }] : []
  })
}
