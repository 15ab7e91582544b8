import { BulkheadError, requireOptions, type Principal } from '@bulkhead/contract'
import { findJsonFault } from '@bulkhead/kit/json'
import { forms } from '@bulkhead/kit/options'
import { visibleText } from '@bulkhead/kit/text'

const PRINCIPAL = { id: forms.text, attributes: forms.object }
const MAX_ID_CHARS = 200
/** As JSON. */
const MAX_ATTRIBUTES_CHARS = 16_384

/** Its id binds approvals and state, so two principals must not look the same. Throws ConfigInvalid. */
export function checkPrincipal(principal: Principal, isSubagent: boolean): void {
  requireOptions('principal', principal, PRINCIPAL, 'id')
  const { id, attributes = {} } = principal
  const isShown = id.isWellFormed() && visibleText(id) === id && id.trim() === id
  const why = isSubagent ? 'A sub-agent has the principal of its parent. Open a session for another one.'
    : id === '' || id.length > MAX_ID_CHARS || !isShown
      ? `The id of a principal has 1 to ${MAX_ID_CHARS} visible characters, and no space around them.`
      : findJsonFault(attributes) || JSON.stringify(attributes).length > MAX_ATTRIBUTES_CHARS
        ? `The attributes of a principal are JSON of at most ${MAX_ATTRIBUTES_CHARS} characters.` : undefined
  if (why !== undefined) throw new BulkheadError('ConfigInvalid', why, { data: { path: '/principal' } })
}
