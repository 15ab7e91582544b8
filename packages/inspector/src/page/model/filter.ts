import type { CallItem } from '../../protocol.ts'
import { kept } from './kept.ts'

/** Which calls are listed. */
export interface CallFilter {
  readonly failed: boolean
  readonly tool: string
  readonly session: string
  readonly text: string
}

export const EVERY_CALL: CallFilter = { failed: false, tool: '', session: '', text: '' }

/** Remembered by this browser. */
export const filter = kept<CallFilter>('filter', EVERY_CALL, (value): value is CallFilter => {
  const { failed, tool, session, text } = (value ?? {}) as Partial<CallFilter>
  return typeof failed === 'boolean' && [tool, session, text].every((one) => typeof one === 'string')
})

export function setFilter(change: Partial<CallFilter>): void {
  const next = { ...filter.peek(), ...change }
  filter.value = isEverything(next) ? EVERY_CALL : next
}

export const isEverything = ({ failed, tool, session, text }: CallFilter): boolean =>
  !failed && tool === '' && session === '' && text === ''

const FAILED: ReadonlySet<string> = new Set(['failed', 'denied', 'cancelled', 'unknown'])

/** As the server does for older calls. */
export function matches(item: CallItem, { failed, tool, session, text }: CallFilter): boolean {
  if (failed && !FAILED.has(item.state)) return false
  if ((tool !== '' && item.tool !== tool) || (session !== '' && item.session !== session)) return false
  if (text === '') return true
  const wanted = text.toLowerCase()
  return [item.tool, item.subject, item.by, item.code, item.message, item.call].some((one) =>
    one?.toLowerCase().includes(wanted),
  )
}

export function queryOf({ failed, tool, session, text }: CallFilter, before?: string): string {
  const query = new URLSearchParams({ limit: '200' })
  if (failed) query.set('failed', '1')
  for (const [name, value] of Object.entries({ tool, session, text, before })) if (value) query.set(name, value)
  return query.toString()
}
