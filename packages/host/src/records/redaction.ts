import type { Json } from '@bulkhead/kit/json'
import { isSecretName, MIN_SECRET_CHARS, writtenForms } from '@bulkhead/kit/text'

const REDACTED = '[redacted]'

/**
 * Patterns that are secrets anywhere: PEM keys, tokens of well-known issuers, credentials in a header. The last one, a
 * JSON Web Token, is matched once per run of its letters: from each `eyJ` it would take quadratic time.
 */
const SECRET_FORMS = [
  /-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/,
  /\b(?:Bearer|Basic)\s+[A-Za-z0-9._~+/=-]{8,}/,
  /\b(?:gh[pousr]_|github_pat_|glpat-|sk-|xox[abprs]-|npm_)[A-Za-z0-9_-]{10,}/,
  /\bAKIA[0-9A-Z]{16}\b/,
  /(?<![A-Za-z0-9_-])(?=[A-Za-z0-9_-]{11,}\.[A-Za-z0-9_-]{8,}\.)[A-Za-z0-9_-]*?\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*/,
].map(({ source }) => source)

const SECRET_WORD = String.raw`(?i:pass(?:word|wd|phrase)|secret|token|api[-_]?key|private[-_]?key)`
/**
 * The value of a name, also inside of a longer text: `password=hunter2`, `"apiKey": "…"`. Without quotes only after `=` and
 * without a space, and if it is no call: `token: string` and `token=next()` are code. The word comes first, so that each place is
 * tried once.
 */
const NAMED_FORMS = [
  String.raw`(?<quoted>${SECRET_WORD}\\?["']?[ \t]{0,4}[=:][ \t]{0,4}\\?["'])[^"'\\\n]{6,}`,
  // The value is matched once and whole: trying shorter ones before a bracket would take quadratic time.
  String.raw`(?<plain>${SECRET_WORD}=)(?=(?<value>[^\s"'\`,;&|<>(){}[\]$\\]{6,}))\k<value>(?!\()`,
]

/** Removes secrets from data that will be stored. */
export interface Redaction {
  text(text: string): string
  /** The same, cached, for strings that repeat. */
  repeated(text: string): string
  /** A copy. */
  value(value: Json): Json
}

/** The size of that cache. Beyond it the cache is cleared. */
const REMEMBERED = 512
const REMEMBERED_CHARS = 200

const escaped = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|/-]/g, String.raw`\$&`)

/** `secretValues`: the values of declared secrets, removed wherever they occur. */
export function createRedaction(secretValues: Iterable<string>): Redaction {
  const secretTexts = [...secretValues].filter((value) => value.length >= MIN_SECRET_CHARS).flatMap(writtenForms)
  const values = [...new Set(secretTexts)].toSorted((a, b) => b.length - a.length)
  const pattern = [...values.map(escaped), ...SECRET_FORMS, ...NAMED_FORMS].join('|')
  const [secret, secrets] = [new RegExp(pattern), new RegExp(pattern, 'g')]
  // Most strings have no secret, and a test costs half of a replacement.
  const text = (given: string): string => secret.test(given) ? given.replace(secrets, `$<quoted>$<plain>${REDACTED}`) : given
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
      [text(key), isSecretName(key) ? REDACTED : value(member)]))
  }
  return { text, repeated, value }
}
