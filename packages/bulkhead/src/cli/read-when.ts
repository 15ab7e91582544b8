import { readTime, TIME_FORMS } from '@bulkhead/kit/times'
import { UsageError } from './command.ts'

/** What --since and --until take, for help. */
export const WHEN = TIME_FORMS

/** The time of an option, as ISO 8601 in UTC. A day of --until counts to its end. Throws UsageError. */
export function readWhen(option: 'since' | 'until', given: string | undefined): string | undefined {
  if (given === undefined) return undefined
  const time = readTime(given, new Date(), option === 'until')
  if (time) return time.toISOString()
  throw new UsageError(`--${option} must be a time such as ${TIME_FORMS}, not "${given}".`)
}

/** The time of --before, in milliseconds since 1970. Throws UsageError. */
export function readBefore(given: string | undefined): number | undefined {
  if (given === undefined) return undefined
  const time = readTime(given, new Date(), false)
  if (time) return time.getTime()
  throw new UsageError(`--before must be a time such as ${TIME_FORMS}, not "${given}".`)
}
