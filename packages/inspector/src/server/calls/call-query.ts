import type { CallItem } from '../../protocol.ts'
import { RequestFault } from '../fault.ts'

export interface CallQuery {
  readonly failed: boolean
  readonly tool: string | undefined
  readonly session: string | undefined
  readonly text: string | undefined
  /** Only calls that began before. */
  readonly before: number | undefined
  readonly limit: number
}

const MOST = 500
const DEFAULT = 200

/** Throws InputInvalid. */
export function readQuery(params: URLSearchParams): CallQuery {
  const of = (name: string): string | undefined => params.get(name) || undefined
  const before = of('before')
  const limit = Number(of('limit') ?? DEFAULT)
  if (!Number.isSafeInteger(limit) || limit < 1) throw invalid('limit', 'a whole number from 1')
  if (before !== undefined && !Number.isSafeInteger(Number(before))) throw invalid('before', 'a value of `next`')
  return {
    failed: of('failed') === '1', tool: of('tool'), session: of('session'), text: of('text')?.toLowerCase(),
    before: before === undefined ? undefined : Number(before), limit: Math.min(limit, MOST),
  }
}

const FAILED: ReadonlySet<string> = new Set<CallItem['state']>(['failed', 'denied', 'cancelled', 'unknown'])

export const isFound = (item: CallItem, { failed, tool, session, text, before }: CallQuery): boolean =>
  (before === undefined || item.at < before) && (!failed || FAILED.has(item.state)) && (tool === undefined || item.tool === tool)
  && (session === undefined || item.session === session)
  && (text === undefined || [item.tool, item.subject, item.by, item.message, item.call, item.code]
    .some((one) => one?.toLowerCase().includes(text)))

const invalid = (name: string, what: string): RequestFault => new RequestFault('InputInvalid', `"${name}" must be ${what}.`)
