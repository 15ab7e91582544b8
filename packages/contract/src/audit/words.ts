import { visibleJson } from '@bulkhead/kit/text'
import { durationInWords } from '@bulkhead/kit/times'
import type { CallRow } from './call-row.ts'
import type { CallStory } from './call-story.ts'

/** Longer texts are cut. JSON has all of it. */
const MOST_SUBJECT = 80
const MOST_ARGUMENTS = 400
const MOST_LISTED = 5

/** At most so many characters. */
export const cutText = (text: string, most = MOST_SUBJECT): string =>
  text.length > most ? `${text.slice(0, most - 1)}…` : text

/** How it ended, how long it took, and how long people were asked, in words. */
export function resultWords({ state, errorCode, durationMs, askedMs, attempts }: CallRow): string {
  const result = state === 'succeeded' ? 'ok' : state === 'open' ? 'no end yet'
    : errorCode === undefined ? state : `${state} ${errorCode}`
  const took = state === 'denied' || durationMs === undefined ? '' : ` ${durationInWords(durationMs)}`
  const isAnswered = attempts === 0 && (state === 'succeeded' || state === 'failed')
  return `${isAnswered ? 'not run, recorded answer: ' : ''}${result}${took}${askedMs === undefined ? '' : `, asked ${durationInWords(askedMs)}`}`
}

/** What allowed or denied it, in words. The reason says more than the source if it names the rule, with file and line. */
export function byWords({ decision, answeredBy = 'person' }: CallRow): string | undefined {
  if (decision === undefined) return undefined
  const { source, reason } = decision
  return source === 'no rule' || reason.startsWith('the rule ') ? reason : source === 'person' ? answeredBy : source
}

/** One fact of a story: show both as visible text. */
export interface StoryLine {
  readonly label: string
  readonly text: string
}

/** The story of a call for people, a line for each fact. */
export function storyLines(story: CallStory): readonly StoryLine[] {
  const { origin, session, call, tool, parent, children, decision, subject } = story
  const lines: readonly (readonly [string, string | undefined])[] = [
    ['call', `${session}/${call}${parent === undefined ? '' : `, made by the tool of call ${parent}`}`],
    ['tool', origin ? `${tool}, ${origin.layer} ${origin.extension}@${origin.version}` : `${tool}, which does not exist`],
    ['what', subject || undefined],
    ['for', whoText(story)],
    ['arguments', argumentsText(story)],
    ...story.changes.map(({ subject: what, source, reason }) =>
      ['changed', `the ${what}, by ${source}: ${reason}`] as const),
    ...story.questions.map((question) => ['asked', questionText(question)] as const),
    ['decided', decision && `${VERBS[decision.decision]} by ${decision.source}: ${decision.reason}`],
    ...listed(story.uses.map(({ use, subject: what, decision: verdict, source, reason }) =>
      `${VERBS[verdict]} ${use ?? 'use'} ${what}, by ${source}: ${reason}`)).map((text) => ['used', text] as const),
    ['touched', touchedText(story)],
    ...listed(story.keys.map(keyText)).map((text) => ['key', text] as const),
    ['began', beganText(story)],
    ...listed(children.map((child) => `${child.call}: ${child.tool} ${cutText(child.subject)}, ${resultWords(child)}`))
      .map((text) => ['called', text] as const),
    ['result', endText(story)],
    ['time', timeText(story)],
    ['chain', chainText(story)],
  ]
  return lines.flatMap(([label, text]) => text === undefined ? [] : [{ label, text }])
}

const VERBS = { allow: 'allowed', deny: 'denied' } as const

const listed = (texts: readonly string[]): readonly string[] => texts.length <= MOST_LISTED ? texts
  : [...texts.slice(0, MOST_LISTED), `and ${texts.length - MOST_LISTED} more; --json has all`]

/** What it used, with the bytes. Uses that a rule decided have lines of their own. */
function touchedText({ measured = [], moreMeasured = 0 }: CallStory): string | undefined {
  if (measured.length === 0) return undefined
  const shown = measured.slice(0, MOST_LISTED).map(({ part, subject, readBytes, writtenBytes, failed }) => {
    const sizes = [...(readBytes === undefined ? [] : [`read ${readBytes} B`]), ...(writtenBytes === undefined ? [] : [`wrote ${writtenBytes} B`])]
    return `${part} ${cutText(subject)}${sizes.length === 0 ? '' : ` (${sizes.join(', ')})`}${failed ? ', failed' : ''}`
  })
  const more = measured.length - shown.length + moreMeasured
  return [...shown, ...(more === 0 ? [] : [`and ${more} more`])].join('; ')
}

function keyText({ key, method, host, path, refused }: CallStory['keys'][number]): string {
  const place = `${method} ${host}${path}`
  return refused === undefined ? `${key} sent with ${place}` : `${key} not sent with ${place}: ${refused}`
}

function whoText({ principal, agent, workspace, session, parentSession }: CallStory): string {
  const parts = [
    principal, agent === undefined ? undefined : `the agent ${agent}`,
    parentSession === undefined ? undefined : `on behalf of session ${parentSession}`,
    workspace === undefined ? undefined : `in ${workspace}`,
  ].filter((part) => part !== undefined)
  return parts.length === 0 ? `session ${session}` : parts.join(', ')
}

function argumentsText({ arguments: args, argsSha256 }: CallStory): string | undefined {
  if (args !== undefined) return cutText(visibleJson(JSON.stringify(args)), MOST_ARGUMENTS)
  return argsSha256 && `SHA-256 ${argsSha256}; "audit": { "arguments": true } records the text`
}

function questionText({ kind, source, status = 'no answer yet', by, askedMs }: CallStory['questions'][number]): string {
  const who = by === undefined ? '' : ` by ${by}`
  return `${kind} from ${source}: ${status}${who}${askedMs === undefined ? '' : `, after ${durationInWords(askedMs)}`}`
}

/** Records of earlier versions have no attempts, and do not say what began. */
const beganText = ({ began, attempts = 0 }: CallStory): string | undefined =>
  began ? listed(began).join('; ') : attempts > 0 ? 'nothing that has an effect' : undefined

function endText({ state, errorClass, errorCode, message, resultChars, replayed, records }: CallStory): string {
  if (state === 'open') return 'no end is recorded: it runs, or its host ended and no other has settled it yet'
  const size = resultChars === undefined ? '' : `, about ${resultChars} characters`
  const earlier = replayed ? ' as recorded for its idempotency key' : ''
  const kind = errorClass === undefined ? '' : ` (${errorClass})`
  const why = errorCode === undefined ? '' : ` with ${errorCode}${kind}: ${message ?? ''}`
  const lost = records.reduce((sum, { lostBefore = 0 }) => sum + lostBefore, 0)
  return `${state}${earlier}${size}${why}${lost === 0 ? '' : `. ${lost} records before it were lost`}`
}

function timeText({ durationMs, attempts, askedMs, phases = [] }: CallStory): string | undefined {
  if (durationMs === undefined) return undefined
  const tries = attempts === undefined || attempts === 1 ? ''
    : attempts === 0 ? ', it never ran' : `, ${attempts} attempts`
  const people = askedMs === undefined ? '' : `, of which ${durationInWords(askedMs)} for people`
  const spent = phases.map(({ kind, ms }) => `${kind} ${durationInWords(ms)}`).join(', ')
  return `${durationInWords(durationMs)}${people}${tries}${spent === '' ? '' : `: ${spent}`}`
}

function chainText({ records }: CallStory): string | undefined {
  const last = records.at(-1)
  if (last === undefined) return undefined
  const positions = records.map(({ position }) => position)
  const host = last.host === '' ? '' : ` of ${[...new Set(records.map((record) => record.host))].join(' and ')}`
  return `records ${positions.join(', ')}${host}, link ${last.link ?? 'unknown'}`
}
