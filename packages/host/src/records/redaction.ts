import type { Json } from '@bulkhead/kit/json'

const REDACTED = '[redacted]'

/** Members whose values are always redacted. */
const SECRET_KEY = /pass(?:word|phrase|code)|secret|token|api[-_]?key|private[-_]?key|authorization|cookie|credential/i

/**
 * Forms that are secrets wherever they stand: keys in PEM, tokens of well-known issuers, what follows a scheme in a header. The last,
 * a JSON Web Token, is looked for once per run of its letters, where two more parts follow: from each `eyJ` it would take quadratic time.
 */
const SECRET_FORMS = [
  /-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/,
  /\b(?:Bearer|Basic)\s+[A-Za-z0-9._~+/=-]{8,}/,
  /\b(?:gh[pousr]_|github_pat_|glpat-|sk-|xox[abprs]-|npm_)[A-Za-z0-9_-]{10,}/,
  /\bAKIA[0-9A-Z]{16}\b/,
  /(?<![A-Za-z0-9_-])(?=[A-Za-z0-9_-]{11,}\.[A-Za-z0-9_-]{8,}\.)[A-Za-z0-9_-]*?\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*/,
].map(({ source }) => source)

/** A shorter one would hide half of every text, and is no secret. */
const LEAST_SECRET_CHARS = 6

/** Takes secrets out of what is about to be kept. */
export interface Redaction {
  text(text: string): string
  /** The same, for words that come again and again. */
  repeated(text: string): string
  /** A copy. */
  value(value: Json): Json
}

/** Of words that come again; more are forgotten all at once. */
const REMEMBERED = 512
const REMEMBERED_CHARS = 200

const escaped = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|/-]/g, String.raw`\$&`)

/** A value as it is, and as it is written into JSON, an address or a header. */
const writtenForms = (value: string): readonly string[] => [
  value, JSON.stringify(value).slice(1, -1), encodeURIComponent(value.toWellFormed()),
  Buffer.from(value).toString('base64').replace(/={1,2}$/, ''), Buffer.from(value).toString('base64url'),
]

/** Whether a member with this name is always redacted. */
export const isSecretName = (name: string): boolean => SECRET_KEY.test(name)

/** `secretValues`: the values of declared secrets, taken out wherever they stand. */
export function createRedaction(secretValues: Iterable<string>): Redaction {
  const secretTexts = [...secretValues].filter((value) => value.length >= LEAST_SECRET_CHARS).flatMap(writtenForms)
  const values = [...new Set(secretTexts)].toSorted((a, b) => b.length - a.length)
  const pattern = [...values.map(escaped), ...SECRET_FORMS].join('|')
  const [secret, secrets] = [new RegExp(pattern), new RegExp(pattern, 'g')]
  // Most texts hold none, and to find that out costs half of what a replacement does.
  const text = (given: string): string => secret.test(given) ? given.replace(secrets, REDACTED) : given
  const known = new Map<string, string>()
  const repeated = (given: string): string => {
    if (given.length > REMEMBERED_CHARS) return text(given)
    let redacted = known.get(given)
    if (redacted === undefined) {
      if (known.size >= REMEMBERED) known.clear()
      known.set(given, redacted = text(given))
    }
    return redacted
  }
  const value = (given: Json): Json => {
    if (typeof given === 'string') return text(given)
    if (typeof given !== 'object' || given === null) return given
    if (Array.isArray(given)) return given.map(value)
    return Object.fromEntries(Object.entries(given).map(([key, member]) =>
      [text(key), SECRET_KEY.test(key) ? REDACTED : value(member)]))
  }
  return { text, repeated, value }
}
