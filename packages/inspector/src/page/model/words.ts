import { visibleText } from '@bulkhead/kit/text'

/** Text of a stranger, on one line. */
export const shown = (text: string): string => visibleText(text)
/** Text of a stranger that keeps its lines. */
export const shownLines = (text: string): string => visibleText(text, { keepLines: true })

/** How long something took: "0.4 ms", "340 ms", "8.1 s", "3 min 5 s". */
export function duration(ms: number): string {
  if (ms < 10) return `${ms < 1 ? ms.toFixed(1) : Math.round(ms)} ms`
  if (ms < 1_000) return `${Math.round(ms)} ms`
  if (ms < 59_950) return `${(ms / 1_000).toFixed(1)} s`
  return age(ms)
}

/** For how long something goes on, in whole seconds: "40 s", "3 min 5 s", "2 h 10 min", "4 d". */
export function age(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1_000))
  const parts: readonly (readonly [number, string])[] = [
    [Math.floor(seconds / 86_400), 'd'],
    [Math.floor(seconds / 3_600) % 24, 'h'],
    [Math.floor(seconds / 60) % 60, 'min'],
    [seconds % 60, 's'],
  ]
  const first = parts.findIndex(([count]) => count > 0)
  if (first < 0) return '0 s'
  return parts
    .slice(first, first + 2)
    .filter(([count]) => count > 0)
    .map(([count, unit]) => `${count} ${unit}`)
    .join(' ')
}

export function bytes(count: number): string {
  if (count < 1_000) return `${count} B`
  const power = Math.min(3, Math.floor(Math.log10(count) / 3))
  const value = count / 1_000 ** power
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} ${['B', 'kB', 'MB', 'GB'][power]}`
}

export const plural = (count: number, one: string, many = `${one}s`): string =>
  `${count.toLocaleString('en')} ${count === 1 ? one : many}`

const CLOCK = new Intl.DateTimeFormat(undefined, {
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  hourCycle: 'h23',
})
const DAY = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short' })
const WHEN = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'long' })

/** The time of today, otherwise the day. */
export function clock(at: number): string {
  const date = new Date(at)
  return date.toDateString() === new Date().toDateString() ? CLOCK.format(date) : DAY.format(date)
}

/** Date, time and zone. */
export const when = (at: number): string => WHEN.format(at)

/** The zone of this browser, as people write it: "CET", "GMT+2". */
export const zone = (at: number): string =>
  new Intl.DateTimeFormat(undefined, { timeZoneName: 'short' })
    .formatToParts(at)
    .find(({ type }) => type === 'timeZoneName')?.value ?? 'local time'

/** What tells one long id from another. */
export const shortId = (id: string): string => (id.length <= 10 ? id : `${id.slice(0, 4)}…${id.slice(-4)}`)
