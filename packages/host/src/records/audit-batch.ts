import { auditRecord, type AuditForm, type AuditGroup, type AuditRow, type BulkheadEvent } from '@bulkhead/contract'
import { canonicalJson, type JsonObject } from '@bulkhead/kit/json'
import { sha256 } from '../model/sha256.ts'
import { formOf, type CallForms } from './audit-forms.ts'
import type { Redaction } from './redaction.ts'

/** Records that will be written together. */
export class AuditBatch implements AuditGroup {
  readonly forms: AuditForm[] = []
  readonly rows: string[] = []
  readonly texts: (string | undefined)[] = []
  /** About how many wait here. */
  chars = 0
  readonly #numbers = new Map<AuditForm, number>()

  add(event: BulkheadEvent, calls: CallForms, redaction: Redaction): void {
    switch (event.type) {
      case 'ToolInvocationDecided':
      case 'ToolInvocationSucceeded':
      case 'ToolInvocationFailed':
      case 'ToolInvocationCancelled':
        this.#push(
          calls.rowOf(event, this.#numberOf(calls.formOf(event))),
          event.type === 'ToolInvocationDecided' ? canonicalJson(event.args) : undefined,
        )
        break
      default:
        this.#push(String(this.#numberOf(formOf(event, redaction))), undefined)
    }
  }

  /** Says in the first record how many are missing before it. */
  noteLost(count: number): void {
    const [number, ...values] = rowIn(this.rows[0]!)
    const form = this.forms[number]!
    const row = [this.#numberOf({ ...form, own: ['lostBefore', ...form.own] }), count, ...values]
    this.rows[0] = JSON.stringify(row).slice(1, -1)
  }

  /** For a store that takes them one by one. */
  records(): readonly JsonObject[] {
    return this.rows.map((values, index) => {
      const row = rowIn(values)
      const text = this.texts[index]
      return auditRecord(this.forms[row[0]]!, text === undefined ? row : [...row, sha256(text)])
    })
  }

  #push(row: string, text: string | undefined): void {
    this.rows.push(row)
    this.texts.push(text)
    this.chars += row.length + (text?.length ?? 0)
  }

  #numberOf(form: AuditForm): number {
    let number = this.#numbers.get(form)
    if (number === undefined) {
      this.#numbers.set(form, number = this.forms.push(form) - 1)
      this.chars += FORM_CHARS
    }
    return number
  }
}

/** An event that happens now and then is a form by itself. */
const FORM_CHARS = 1_000

const rowIn = (values: string): AuditRow => JSON.parse(`[${values}]`) as AuditRow
