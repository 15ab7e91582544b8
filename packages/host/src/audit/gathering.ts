import { auditRecord, canonicalJson, type AuditForm, type AuditGroup, type AuditRow, type BulkheadEvent, type JsonObject } from '@bulkhead/contract'
import { sha256 } from '../sha256.ts'
import { formOf } from './audit-record.ts'
import type { CallForms } from './call-forms.ts'
import type { Redaction } from './redaction.ts'

/** Records that will be written together. */
export class Gathering implements AuditGroup {
  readonly forms: AuditForm[] = []
  readonly rows: AuditRow[] = []
  readonly texts: string[] = []
  readonly #numbers = new Map<AuditForm, number>()

  add(event: BulkheadEvent, calls: CallForms, redaction: Redaction): void {
    switch (event.type) {
      case 'ToolInvocationDecided':
      case 'ToolInvocationSucceeded':
      case 'ToolInvocationFailed':
      case 'ToolInvocationCancelled':
        this.rows.push(calls.rowOf(event, this.#numberOf(calls.formOf(event))))
        if (event.type === 'ToolInvocationDecided') this.texts.push(canonicalJson(event.args))
        break
      default:
        this.rows.push([this.#numberOf(formOf(event, redaction))])
    }
  }

  /** Says in the first record how many are missing before it. */
  noteLost(count: number): void {
    const [number, ...values] = this.rows[0]!
    const form = this.forms[number]!
    this.rows[0] = [this.#numberOf({ ...form, own: ['lostBefore', ...form.own] }), count, ...values]
  }

  /** For a store that takes them one by one. */
  records(): readonly JsonObject[] {
    const texts = this.texts.values()
    return this.rows.map((row) => {
      const form = this.forms[row[0]]!
      return auditRecord(form, form.digested ? [...row, sha256(texts.next().value!)] : row)
    })
  }

  #numberOf(form: AuditForm): number {
    let number = this.#numbers.get(form)
    if (number === undefined) this.#numbers.set(form, number = this.forms.push(form) - 1)
    return number
  }
}
