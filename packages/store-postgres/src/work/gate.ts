import type { Freeze } from '@bulkhead/contract'
import { isJsonObject, parseJson } from '@bulkhead/kit/json'
import type { Row } from '../connection/database.ts'

/** What every call must pass, as the server has it. */
export interface GateState {
  readonly revision: number
  /** Changes with each freeze and thaw. */
  readonly number: number
  /** Changes whenever a host loses its seat. */
  readonly epoch: number
  readonly freeze: Freeze | undefined
}

export const gateIn = (row: Row): GateState => ({
  revision: Number(row['revision']), number: Number(row['number']),
  epoch: Number(row['epoch']), freeze: freezeIn(row['frozen']),
})

/** What cannot be read freezes, too. */
export function freezeIn(text: unknown): Freeze | undefined {
  if (typeof text !== 'string') return undefined
  const parsed = parseJson(text)
  const { since, by, reason, cancel } = parsed.ok && isJsonObject(parsed.value) ? parsed.value : {}
  return {
    since: typeof since === 'number' ? since : 0, by: typeof by === 'string' ? by : 'unknown',
    ...(typeof reason === 'string' && { reason }), ...(cancel === true && { cancel }),
  }
}
