import { isMac, macOf } from '@bulkhead/kit/signed-message'
import type { LinkedQuestion } from './questions.ts'

const PURPOSE = 'link to a question'
const TOKEN = /^([0-9a-f]{40})\.(\d{1,9})\.(\d{1,16})\.([\w-]{43})$/

/** What a link is for: one question in one round, so one answer. */
export type Linked = Pick<LinkedQuestion, 'id' | 'round'>

export function linkToken(secret: string, { id, round }: Linked, until: number): string {
  const text = `${id}.${round}.${until}`
  return `${text}.${macOf(secret, PURPOSE, text)}`
}

/** undefined for a token that was not made with the secret, and for one that is over. */
export function readToken(secret: string, token: string, now: number): Linked | undefined {
  const [, id, round, until, mac] = TOKEN.exec(token) ?? []
  if (id === undefined || !isMac(mac!, macOf(secret, PURPOSE, `${id}.${round}.${until}`))) return undefined
  return Number(until) > now ? { id, round: Number(round) } : undefined
}
