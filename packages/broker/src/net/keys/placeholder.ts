import { randomInt } from 'node:crypto'
import { BulkheadError } from '@bulkhead/contract'
import { SECRET_CHARS } from '../../secrets/vault.ts'

/** Beginnings of tokens. Clients look at them, and they say nothing about the key. */
const PREFIXES: readonly RegExp[] = [
  /^(?:gh[oprsu]_|github_pat_|glpat-|npm_|pypi-|dop_v1_|shp(?:at|ca|pa|ss)_|lin_api_|ntn_|figd_)/,
  /^(?:sk-(?:proj-|ant-(?:api\d\d-)?|or-v1-)?|[prs]k_(?:live|test)_|hf_|gsk_|xai-|pplx-|r8_|tvly-)/,
  /^(?:xox[abeprs]-|xapp-|AKIA|AIza|ya29\.|SG\.|eyJ)/,
  // Of other services. Not of a pass phrase: what follows has no words.
  /^[A-Za-z]{2,8}[-_](?=[A-Za-z0-9]{20,}$)/,
]

const [DIGITS, LOWER, UPPER] = ['0123456789', 'abcdefghijklmnopqrstuvwxyz', 'ABCDEFGHIJKLMNOPQRSTUVWXYZ']
/** The narrowest first. */
const ALPHABETS = [
  DIGITS, `${DIGITS}abcdef`, `${DIGITS}ABCDEF`, LOWER, UPPER, DIGITS + LOWER, DIGITS + UPPER, LOWER + UPPER,
  DIGITS + LOWER + UPPER,
]
/** A header carries it, also with a prefix. */
const SENDABLE = /^[\x21-\x7e]+$/

/**
 * A random text of the shape of a key: its length, well-known prefix, alphabet and punctuation, so that clients that
 * check the format accept it. Throws CapabilityUnavailable if the value cannot be kept apart from ordinary text.
 */
export function placeholderFor(name: string, value: string): string {
  const { least, most } = SECRET_CHARS
  const prefix = PREFIXES.map((beginning) => beginning.exec(value)?.[0]).find((found) => found !== undefined) ?? ''
  const rest = value.slice(prefix.length)
  const letters = rest.replaceAll(/[^A-Za-z0-9]/g, '')
  if (value.length > most || !SENDABLE.test(value) || letters.length < least) {
    const message = `The key ${name} cannot be kept out of the process: it needs ${least} to ${most} visible ASCII `
      + `characters, and ${least} letters or digits that are not a known prefix. Check the value of the variable.`
    throw new BulkheadError('CapabilityUnavailable', message, { data: { name } })
  }
  const alphabet = ALPHABETS.find((one) => [...letters].every((letter) => one.includes(letter)))!
  for (;;) {
    const made = prefix + rest.replaceAll(/[A-Za-z0-9]/g, () => alphabet[randomInt(alphabet.length)]!)
    if (made !== value) return made
  }
}
