import { BulkheadError } from '@bulkhead/contract'
import { configFileSchema, placeIssues, pointerOf } from '@bulkhead/contract/validation'
import { isJsonObject, type Json, type JsonObject } from '@bulkhead/kit/json'
import { parseStrictJson } from '../files/json-file.ts'
import { validateConfig } from './config-file.ts'

type Steps = readonly string[]

/** Why no configuration can have this key, as the end of a sentence, or undefined. */
export function findKeyFault(steps: Steps): string | undefined {
  const { error } = configFileSchema.safeParse(withMember({}, steps, null))
  const issues = placeIssues(error?.issues ?? [], configFileSchema)
  const fault = issues.find((issue) =>
    issue.steps.every((step, index) => step === steps[index])
    && (issue.steps.length < steps.length || /^is not a (?:known|valid) key/.test(issue.message)))
  if (fault === undefined || fault.steps.length === steps.length) return fault?.message
  return `is not a key: "${fault.steps.join('.')}" ${fault.message}`
}

/**
 * The text of a configuration file with one setting changed. Everything else in it stays. Throws ConfigInvalid if the
 * file cannot be parsed, or if the change adds a fault.
 */
export function editConfig(written: Uint8Array | undefined, steps: Steps, value: Json): string {
  const parsed = written === undefined ? { ok: true as const, value: {} } : parseStrictJson(written)
  if (!parsed.ok) throw invalid(`The file ${parsed.message}. Fix it first.`, parsed.path)
  if (!isJsonObject(parsed.value)) throw invalid('The file must contain an object. Fix it first.', '')
  const edited = withMember(parsed.value, steps, value)
  const known = new Set(validateConfig(parsed.value).faults.map(({ path, message }) => `${path} ${message}`))
  const added = validateConfig(edited).faults.find(({ path, message }) => !known.has(`${path} ${message}`))
  // The fault says what applies until it is fixed, but this change is not made.
  if (added !== undefined) throw invalid(added.message.replace(/ Until this is fixed, .*$/s, ''), added.path)
  return `${JSON.stringify(edited, null, indentOf(written))}\n`
}

const invalid = (message: string, path: string): BulkheadError =>
  new BulkheadError('ConfigInvalid', message, { data: { path } })

/** Keeps the order of the members. Throws ConfigInvalid. */
function withMember(object: JsonObject, [step, ...rest]: Steps, value: Json): JsonObject {
  if (step === undefined) return object
  const child = Object.hasOwn(object, step) ? object[step] : undefined
  if (rest.length > 0 && child !== undefined && !isJsonObject(child)) {
    throw invalid(`"${step}" is a list or a value, not a map. Set it as a whole.`, pointerOf([step]))
  }
  const member = rest.length === 0 ? value : withMember(isJsonObject(child) ? child : {}, rest, value)
  // Not an assignment: a key named __proto__ would change the prototype.
  return Object.fromEntries(child === undefined
    ? [...Object.entries(object), [step, member]]
    : Object.entries(object).map(([key, kept]) => [key, key === step ? member : kept]))
}

/** The indentation of the first member, else two spaces. */
function indentOf(written: Uint8Array | undefined): string {
  const text = written === undefined ? '' : new TextDecoder().decode(written)
  return /^\s*\{\r?\n([ \t]{1,10})"/.exec(text)?.[1] ?? '  '
}
