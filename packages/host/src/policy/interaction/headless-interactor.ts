import { BulkheadError, requireOptions, type InteractionKind, type Interactor } from '@bulkhead/contract'
import { forms } from '@bulkhead/kit/options'

/** What a run without a person would have needed one for. */
export interface PermissionRequired {
  readonly kind: 'permission-required'
  readonly requestKind: InteractionKind
  readonly correlationId: string
  readonly hint: string
}

/**
 * Nobody, and says so: every question fails at once with InteractionUnavailable, so that beside others it leaves the answer
 * to them. `report` hears of each, for whoever runs it to know which rule or approval to give beforehand. Throws ConfigInvalid.
 */
export function createHeadlessInteractor(report: (required: PermissionRequired) => void = () => {}): Interactor {
  requireOptions('createHeadlessInteractor', { report }, { report: forms.method })
  return {
    isNobody: true,
    async interact({ correlationId, request }) {
      const before = request.kind === 'Approve' ? `, or allow "${request.approval.tool}" by a rule or the allowlist` : ''
      const hint = `Run with a person present${before}.`
      const required = { kind: 'permission-required', requestKind: request.kind, correlationId, hint } as const
      report(required)
      throw new BulkheadError('InteractionUnavailable', `Nobody is there to be asked. ${hint}`, { data: { ...required } })
    },
  }
}
