import type { ApprovalAnswer } from './interaction.ts'

/** What limits an answer: when it ends, or how many calls it allows. */
export type AnswerLimit = Pick<ApprovalAnswer, 'until' | 'uses'>

const MINUTE_MS = 60_000
const HALF_DAY_MS = 12 * 60 * MINUTE_MS

/**
 * Reads what a person types: `17:00`, `30 min`, `2 h`, or `5 times`. A time of day is the next one in the local zone,
 * and at most 12 hours away: people mean no other. undefined for anything else.
 */
export function readAnswerLimit(text: string, now: number): AnswerLimit | undefined {
  const [, count, unit] = /^\s*(\d{1,6})\s*(min(?:utes?)?|m|h(?:ours?)?|times?|x)\s*$/i.exec(text) ?? []
  if (count !== undefined) {
    const amount = Number(count)
    if (amount === 0) return undefined
    if (/^[tx]/i.test(unit!)) return { uses: amount }
    return { until: new Date(now + amount * (/^h/i.test(unit!) ? 60 : 1) * MINUTE_MS).toISOString() }
  }
  const [, hour, minute] = /^\s*([01]?\d|2[0-3]):([0-5]\d)\s*$/.exec(text) ?? []
  if (hour === undefined) return undefined
  const end = new Date(now)
  end.setHours(Number(hour), Number(minute), 0, 0)
  if (end.getTime() <= now) end.setDate(end.getDate() + 1)
  return end.getTime() - now > HALF_DAY_MS ? undefined : { until: end.toISOString() }
}

/** In the local zone, which it names. */
export function untilWords(until: string): string {
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone
  const at = new Date(until).toLocaleString('sv-SE', { dateStyle: 'short', timeStyle: 'short' })
  return `until ${at} (${zone})`
}

/** A limit in words, to follow what is allowed. Empty for none. */
export const limitWords = ({ until, uses }: AnswerLimit): string => [
  ...(until === undefined ? [] : [untilWords(until)]),
  ...(uses === undefined ? [] : [`at most ${uses} ${uses === 1 ? 'time' : 'times'}`]),
].join(', ')

/** What to type, for a prompt. */
export const LIMIT_EXAMPLES = '17:00, 30 min, 2 h or 5 times'
