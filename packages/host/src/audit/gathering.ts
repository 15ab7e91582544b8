import type { AuditForm, AuditGroup, AuditRow, BulkheadEvent } from '@bulkhead/contract'
import { formOf } from './audit-record.ts'
import type { CallForms } from './call-forms.ts'
import type { Redaction } from './redaction.ts'

/** Records that will be written together. */
export class Gathering implements AuditGroup {
  readonly forms: AuditForm[] = []
  readonly rows: AuditRow[] = []
  readonly #numbers = new Map<AuditForm, number>()

  add(event: BulkheadEvent, calls: CallForms, redaction: Redaction): void {
    switch (event.type) {
      case 'ToolInvocationDecided':
      case 'ToolInvocationSucceeded':
      case 'ToolInvocationFailed':
      case 'ToolInvocationCancelled':
        this.rows.push(calls.rowOf(event, this.#numberOf(calls.formOf(event))))
        break
      default:
        this.rows.push([this.#numberOf(formOf(event, redaction))])
    }
  }

  /** Says in the first record how many are missing before it. */
  noteLost(count: number): void {
    const [number, ...values] = this.rows[0]!
    const { same, own } = this.forms[number]!
    this.rows[0] = [this.#numberOf({ same, own: [...own, 'lostBefore'] }), ...values, count]
  }

  #numberOf(form: AuditForm): number {
    let number = this.#numbers.get(form)
    if (number === undefined) this.#numbers.set(form, number = this.forms.push(form) - 1)
    return number
  }
}
