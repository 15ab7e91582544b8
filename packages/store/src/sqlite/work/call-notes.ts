import {
  readListedCall, type BegunEffect, type CallTerms, type ListedCall, type OpenCall,
} from '@bulkhead/contract'
import { isJsonObject, parseJson, type Json, type JsonObject } from '@bulkhead/kit/json'
import type { Notebook } from '../journal-file.ts'

/** The terms of calls as a note. They are most of the data, and written once. */
interface Form {
  readonly terms: CallTerms
  /** The number of its note, which the notes of calls refer to. */
  readonly number: number
  /** How many open calls use it. */
  calls: number
}

/** Forms beyond this are kept only while calls use them. */
const MOST_FORMS = 256

/** Calls as notes: `[form, callId, startedAt, begun?, outcomeAt?]`. A form is its data and its number. */
export class CallNotes {
  readonly #notebook: Notebook
  readonly #forms = new Map<CallTerms, Form>()
  /** Of the call with that number. */
  readonly #formOf: (Form | undefined)[] = []
  #count = 0
  /** Numbers that are free again. */
  readonly #free: number[] = []

  constructor(notebook: Notebook) {
    this.#notebook = notebook
  }

  /** Returns its number. Throws StoreUnavailable. */
  put({ terms, callId, outcomeAt }: OpenCall, startedAt: number, begun: readonly BegunEffect[] = []): number {
    const form = this.#forms.get(terms) ?? this.#putForm(terms)
    const number = this.#free.pop() ?? ++this.#count
    this.#notebook.put(number, textOf(form, callId, startedAt, begun, outcomeAt))
    form.calls++
    this.#formOf[number] = form
    return number
  }

  /** Replaces the note of a call by one with what it began. Throws StoreUnavailable. */
  replace(number: number, { callId, outcomeAt }: OpenCall, startedAt: number, begun: readonly BegunEffect[]): void {
    this.#notebook.put(number, textOf(this.#formOf[number]!, callId, startedAt, begun, outcomeAt))
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
    const unused = [...this.#forms.values()].filter(({ calls }) => calls === 0)
    for (const { terms, number } of unused) {
      this.#forms.delete(terms)
      this.#free.push(number)
    }
    for (const { number } of unused) this.#notebook.drop(number)
  }

  #putForm(terms: CallTerms): Form {
    if (this.#forms.size >= MOST_FORMS) this.dropUnused()
    const number = this.#free.pop() ?? ++this.#count
    this.#notebook.put(number, JSON.stringify({ form: number, ...terms }))
    const form: Form = { terms, number, calls: 0 }
    this.#forms.set(terms, form)
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

/** The calls of left-over notes. What has an unknown form is skipped. */
export function callsIn(texts: readonly string[]): readonly ListedCall[] {
  const values = texts.map((text) => parseJson(text)).flatMap((parsed) => parsed.ok ? [parsed.value] : [])
  const forms =
    new Map(values.filter(isJsonObject).map(({ form, ...terms }): [Json | undefined, JsonObject] => [form, terms]))
  return values.filter((value) => Array.isArray(value)).flatMap(([number, callId, startedAt, begun, outcomeAt]) => {
    const terms = forms.get(number)
    if (terms === undefined || callId === undefined || startedAt === undefined) return []
    return readListedCall({ ...terms, callId, startedAt, ...(begun && { begun }), ...(outcomeAt && { outcomeAt }) }) ?? []
  })
}
