import {
  byWords, cutText, resultWords, storyLines, type AuditTimelineRow, type CallRow, type CallStory,
} from '@bulkhead/contract/audit'
import { visibleText } from '@bulkhead/kit/text'
import { localTime, localZone } from '@bulkhead/kit/times'
import { table } from '../output.ts'

const SHOWN_ID = 8

/** Calls and other events, for people. */
export function rowTable(rows: readonly AuditTimelineRow[]): string {
  if (rows.length === 0) return 'No calls.\n'
  const now = new Date()
  const isToday = rows.every(({ at }) => new Date(at).toDateString() === now.toDateString())
  const hasPrincipals = rows.some(({ principal }) => principal !== undefined)
  const hasHosts = rows.some(({ host }) => host !== '')
  const headings = [
    `TIME (${localZone(now)})`, ...(hasHosts ? ['HOST'] : []), 'CALL', 'TOOL', 'WHAT', ...(hasPrincipals ? ['FOR'] : []),
    'RESULT', 'DECIDED BY',
  ]
  return table(headings, rows.map((row) => {
    const time = new Date(row.at)
    const at = Number.isNaN(time.getTime()) ? '-' : localTime(time, isToday ? now : undefined)
    const principal = hasPrincipals ? [row.principal ?? '-'] : []
    const host = hasHosts ? [row.host || '-'] : []
    if (row.kind === 'event') {
      const result = row.isFault ? 'fault' : '-'
      return [at, ...host, '-', row.type, cutText(row.subject) || '-', ...principal, result, '-']
    }
    const what = cutText(row.subject || (row.message ?? '')) || '-'
    return [at, ...host, callName(row), row.tool, what, ...principal, resultWords(row), byWords(row) ?? '-']
  }))
}

/** As `audit show` and `undo` take it. */
const callName = ({ session, call }: Pick<CallRow, 'session' | 'call'>): string =>
  `${session.slice(0, SHOWN_ID)}/${call}`

/** The story of a call, a line for each fact. */
export function storyText(story: CallStory): string {
  const at = new Date(story.at)
  return [`${localTime(at)} ${localZone(at)}\n`, ...storyLines(story).map(({ label, text }) =>
    `${label.padEnd(9)}  ${visibleText(text)}\n`)].join('')
}
