import { BulkheadError } from './bulkhead-error.ts'
import type { Json, JsonObject } from './json.ts'
import { CALL_LIMITS } from './limits.ts'

export type ApprovalKeyTemplate = (args: JsonObject) => string

/**
 * Compiles a template such as `{action}:{path}` once, at load. Two different sets of named arguments never make one key:
 * a `%` and the characters that separate placeholders are escaped in the values, and an absent argument is `%-`.
 * Throws ApprovalKeyInvalid for a template that cannot be told apart or read.
 */
export function compileApprovalKey(template: string): ApprovalKeyTemplate {
  const parts = template.split(/\{([^{}]*)\}/)
  const literals = parts.filter((_, index) => index % 2 === 0)
  const names = parts.filter((_, index) => index % 2 === 1)
  if (names.length === 0) throw invalid(`The approval key template "${template}" names no argument.`)
  if (literals.some((text) => /[{}]/.test(text))) throw invalid(`The approval key template "${template}" has a brace without its pair.`)
  if (names.some((name) => !/^[A-Za-z_][\w-]*(?:\.[A-Za-z_][\w-]*)*$/.test(name))) throw invalid(`The approval key template "${template}" has a placeholder that is not a path such as {city} or {target.host}.`)
  if (literals.slice(1, -1).some((text) => text === '')) throw invalid(`The approval key template "${template}" has two placeholders with nothing between them.`)
  const separators = new Set([...literals.slice(1, -1).join(''), '%'])
  const paths = names.map((name) => name.split('.'))
  return (args) => checkApprovalKey(literals.reduce((key, literal, index) => {
    const before = index === 0 ? '' : escape(textAt(args, paths[index - 1]!), separators)
    return key + before + literal
  }, ''))
}

/** Returns the key, or throws ApprovalKeyInvalid: 1 to 1024 bytes, well formed, no control characters. */
export function checkApprovalKey(key: unknown): string {
  if (typeof key !== 'string' || key === '') throw invalid('The approval key is empty or not a text.')
  if (!key.isWellFormed() || /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/.test(key)) throw invalid('The approval key has control characters.')
  const bytes = new TextEncoder().encode(key).length
  if (bytes > CALL_LIMITS.approvalKeyBytes) throw invalid(`The approval key has ${bytes} bytes; ${CALL_LIMITS.approvalKeyBytes} are allowed.`)
  return key
}

function textAt(args: JsonObject, path: readonly string[]): string | undefined {
  let value: Json | undefined = args
  for (const step of path) {
    value = typeof value === 'object' && value !== null && !Array.isArray(value) && Object.hasOwn(value, step) ? (value as JsonObject)[step] : undefined
  }
  if (value === undefined || value === null) return undefined
  return typeof value === 'string' ? value : JSON.stringify(value)
}

function escape(text: string | undefined, separators: ReadonlySet<string>): string {
  if (text === undefined) return '%-'
  return [...text].map((char) => separators.has(char) ? `%${char.codePointAt(0)!.toString(16).padStart(2, '0')}` : char).join('')
}

const invalid = (message: string) => new BulkheadError('ApprovalKeyInvalid', message)
