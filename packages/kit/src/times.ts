/** What people may write for a time, for messages and help. */
export const TIME_FORMS = '9:00, today, yesterday, 2026-11-18, 2026-11-18T09:00, 90s, 30m, 2h, 7d or 2w ago'

const UNITS_MS: Readonly<Record<string, number>> =
  { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 }

/**
 * A time in the past as people write it, in the local zone: 9:00 is the last time it was nine o'clock. A day is its
 * start or, with `atEnd`, its end. undefined for anything else.
 */
export function readTime(text: string, now: Date, atEnd = false): Date | undefined {
  const given = text.trim()
  const [, amount, unit = ''] = /^(\d{1,6})([smhdw])$/.exec(given) ?? []
  if (amount !== undefined) return new Date(Math.max(0, now.getTime() - Number(amount) * UNITS_MS[unit]!))
  const clock = /^(\d{1,2}):(\d\d)(?::(\d\d))?$/.exec(given)
  if (clock) return lastTimeOf(Number(clock[1]), Number(clock[2]), Number(clock[3] ?? 0), now)
  const days = given === 'today' ? 0 : given === 'yesterday' ? 1 : undefined
  if (days !== undefined) return edgeOf(now.getFullYear(), now.getMonth(), now.getDate() - days, atEnd)
  const [, year, month, day] = /^(\d{4})-(\d\d)-(\d\d)$/.exec(given) ?? []
  if (year !== undefined) {
    const date = edgeOf(Number(year), Number(month) - 1, Number(day), atEnd)
    return date.getMonth() === Number(month) - 1 && date.getDate() === Number(day) ? date : undefined
  }
  if (!/^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?$/.test(given)) return undefined
  const date = new Date(given.replace(' ', 'T'))
  return Number.isNaN(date.getTime()) ? undefined : date
}

function lastTimeOf(hour: number, minute: number, second: number, now: Date): Date | undefined {
  if (hour > 23 || minute > 59 || second > 59) return undefined
  const [year, month, day] = [now.getFullYear(), now.getMonth(), now.getDate()]
  const today = new Date(year, month, day, hour, minute, second)
  return today > now ? new Date(year, month, day - 1, hour, minute, second) : today
}

/** The start of a day, or its last millisecond. A day need not have 24 hours. */
const edgeOf = (year: number, month: number, day: number, atEnd: boolean): Date =>
  atEnd ? new Date(new Date(year, month, day + 1).getTime() - 1) : new Date(year, month, day)

const two = (number: number): string => String(number).padStart(2, '0')

/** In the local zone, such as 2026-11-18 09:00:05; without the day if it is that of `now`. */
export function localTime(date: Date, now?: Date): string {
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`
  const time = `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`
  return now?.toDateString() === date.toDateString() ? time : `${day} ${time}`
}

/** Of a date, such as UTC or GMT+1. */
export function localZone(date: Date): string {
  const zone = new Intl.DateTimeFormat('en', { timeZoneName: 'short' }).formatToParts(date)
  return zone.find(({ type }) => type === 'timeZoneName')?.value ?? 'local'
}

/** Such as 250 ms, 4 s, 12 min, 3 h or 2 d. */
export function durationInWords(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`
  if (ms < 10_000) return `${(ms / 1_000).toFixed(1)} s`
  const seconds = Math.floor(ms / 1_000)
  if (seconds < 120) return `${seconds} s`
  const minutes = Math.floor(seconds / 60)
  if (minutes < 120) return `${minutes} min`
  const hours = Math.floor(minutes / 60)
  return hours < 48 ? `${hours} h` : `${Math.floor(hours / 24)} d`
}
