import type { AuditTimelineRow, CallRow, CallStory } from '@bulkhead/contract/audit'
import { visibleJson, visibleText } from '@bulkhead/kit/text'
import { durationInWords, localTime, localZone } from '@bulkhead/kit/times'
import { table } from '../output.ts'

/** Longer texts are cut. `show` has all of it. */
const MOST_WHAT = 80
const MOST_ARGUMENTS = 400
const MOST_LISTED = 5
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
    if (row.kind === 'event') return [at, ...host, '-', row.type, cut(row.subject) || '-', ...principal, row.isFault ? 'fault' : '-', '-']
    return [
      at, ...host, callName(row), row.tool, cut(row.subject || (row.message ?? '')) || '-', ...principal, resultText(row),
      byText(row),
    ]
  }))
}

/** As `audit show` and `undo` take it. */
const callName = ({ session, call }: Pick<CallRow, 'session' | 'call'>): string =>
  `${session.slice(0, SHOWN_ID)}/${call}`

const cut = (text: string, most = MOST_WHAT): string => text.length > most ? `${text.slice(0, most - 1)}…` : text

function resultText({ state, errorCode, durationMs, askedMs }: CallRow): string {
  const result = state === 'succeeded' ? 'ok' : state === 'open' ? 'no end yet'
    : errorCode === undefined ? state : `${state} ${errorCode}`
  const took = state === 'denied' || durationMs === undefined ? '' : ` ${durationInWords(durationMs)}`
  return `${result}${took}${askedMs === undefined ? '' : `, asked ${durationInWords(askedMs)}`}`
}

/** Without a rule, the reason says more than the source. */
function byText({ decision, answeredBy = 'person' }: CallRow): string {
  if (decision === undefined) return '-'
  const { source, reason } = decision
  return source === 'no rule' ? reason : source === 'person' ? answeredBy : source
}

/** The story of a call, a line for each fact. */
export function storyText(story: CallStory): string {
  const { at, origin, session, call, tool, parent, children, decision, subject } = story
  const lines: readonly (readonly [string, string | undefined])[] = [
    ['call', `${session}/${call}${parent === undefined ? '' : `, made by the tool of call ${parent}`}`],
    ['tool', origin ? `${tool}, ${origin.layer} ${origin.extension}@${origin.version}` : `${tool}, which does not exist`],
    ['what', subject || undefined],
    ['for', whoText(story)],
    ['arguments', argumentsText(story)],
    ...story.changes.map(({ subject: what, source, reason }) => ['changed', `the ${what}, by ${source}: ${reason}`] as const),
    ...story.questions.map((question) => ['asked', questionText(question)] as const),
    ['decided', decision && `${VERBS[decision.decision]} by ${decision.source}: ${decision.reason}`],
    ...listed(story.uses.map(({ use, subject: what, decision: verdict, source, reason }) =>
      `${VERBS[verdict]} ${use ?? 'use'} ${what}, by ${source}: ${reason}`)).map((text) => ['used', text] as const),
    ...listed(story.keys.map(({ key, method, host, path, refused }) =>
      `${key} ${refused === undefined ? 'sent with' : 'not sent with'} ${method} ${host}${path}${refused === undefined ? '' : `: ${refused}`}`))
      .map((text) => ['key', text] as const),
    ['began', beganText(story)],
    ...listed(children.map((child) => `${child.call}: ${child.tool} ${cut(child.subject)}, ${resultText(child)}`))
      .map((text) => ['called', text] as const),
    ['result', endText(story)],
    ['time', timeText(story)],
    ['chain', chainText(story)],
  ]
  const zone = localZone(new Date(at))
  return [`${localTime(new Date(at))} ${zone}\n`, ...lines.flatMap(([label, text]) =>
    text === undefined ? [] : [`${label.padEnd(9)}  ${visibleText(text)}\n`])].join('')
}

const VERBS = { allow: 'allowed', deny: 'denied' } as const

const listed = (texts: readonly string[]): readonly string[] => texts.length <= MOST_LISTED ? texts
  : [...texts.slice(0, MOST_LISTED), `and ${texts.length - MOST_LISTED} more; --json has all`]

function whoText({ principal, agent, workspace, session, parentSession }: CallStory): string {
  const parts = [
    principal, agent === undefined ? undefined : `the agent ${agent}`,
    parentSession === undefined ? undefined : `on behalf of session ${parentSession}`,
    workspace === undefined ? undefined : `in ${workspace}`,
  ].filter((part) => part !== undefined)
  return parts.length === 0 ? `session ${session}` : parts.join(', ')
}

function argumentsText({ arguments: args, argsSha256 }: CallStory): string | undefined {
  if (args !== undefined) return cut(visibleJson(JSON.stringify(args)), MOST_ARGUMENTS)
  return argsSha256 && `SHA-256 ${argsSha256}; "audit": { "arguments": true } records the text`
}

function questionText({ kind, source, status = 'no answer yet', by, askedMs }: CallStory['questions'][number]): string {
  const who = by === undefined ? '' : ` by ${by}`
  return `${kind} from ${source}: ${status}${who}${askedMs === undefined ? '' : `, after ${durationInWords(askedMs)}`}`
}

const beganText = ({ began, state }: CallStory): string | undefined =>
  began ? listed(began).join('; ') : state === 'succeeded' || state === 'failed' ? 'nothing that has an effect' : undefined

function endText({ state, errorClass, errorCode, message, resultChars, records }: CallStory): string {
  if (state === 'open') return 'no end is recorded: it runs, or its host ended and no other has settled it yet'
  const size = resultChars === undefined ? '' : `, about ${resultChars} characters`
  const why = errorCode === undefined ? '' : ` with ${errorCode}${errorClass === undefined ? '' : ` (${errorClass})`}: ${message ?? ''}`
  const lost = records.reduce((sum, { lostBefore = 0 }) => sum + lostBefore, 0)
  return `${state}${size}${why}${lost === 0 ? '' : `. ${lost} records before it were lost`}`
}

function timeText({ durationMs, attempts, askedMs }: CallStory): string | undefined {
  if (durationMs === undefined) return undefined
  const tries = attempts === undefined || attempts === 1 ? '' : attempts === 0 ? ', it never ran' : `, ${attempts} attempts`
  return `${durationInWords(durationMs)}${askedMs === undefined ? '' : `, of which ${durationInWords(askedMs)} for people`}${tries}`
}

function chainText({ records }: CallStory): string | undefined {
  const last = records.at(-1)
  if (last === undefined) return undefined
  const positions = records.map(({ position }) => position)
  const host = last.host === '' ? '' : ` of ${[...new Set(records.map((record) => record.host))].join(' and ')}`
  return `records ${positions.join(', ')}${host}, link ${last.link ?? 'unknown'}`
}
