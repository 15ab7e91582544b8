import { z } from 'zod'
import { ERRORS, isErrorCode, type ErrorCode } from '../model/errors.ts'
import { isJsonObject, type Json, type JsonObject } from '@bulkhead/kit/json'
import type { ErrorOutcome, Outcome } from '../model/outcome.ts'
import { errorOf, json, type Reading } from './reading.ts'

const STUD_CLASSES = [
  'Validation', 'ProviderTransient', 'ProviderCapability', 'ToolTransient', 'ToolTerminal', 'Session', 'Cancellation',
  'ExtensionHost',
] as const
type StudClass = (typeof STUD_CLASSES)[number]

const studError = z.strictObject({ class: z.enum(STUD_CLASSES), code: z.string().min(1), context: z.record(z.string(), json) })
const result = z.discriminatedUnion('ok', [
  z.strictObject({ ok: z.literal(true), value: json }),
  z.strictObject({ ok: z.literal(false), error: studError }),
])
const returned = z.discriminatedUnion('ok', [
  z.strictObject({ ok: z.literal(true), value: json }),
  z.strictObject({ ok: z.literal(false), error: studError.partial({ context: true }) }),
])

const remembered = studError.omit({ context: true })

export type StudResult = z.infer<typeof result>

/** stud's codes are ours but for these. */
const FOREIGN: ReadonlyMap<string, ErrorCode> = new Map<string, ErrorCode>([['Forbidden', 'CapabilityDenied']])
const BY_CLASS: Readonly<Partial<Record<StudClass, ErrorCode>>> = {
  ToolTransient: 'ResourceBusy', ProviderTransient: 'ResourceBusy', Cancellation: 'ToolCancelled',
}

/** Loses content, details, completion and all metadata; data of an error that is no object becomes `{ value }`. */
export function toStud(outcome: Outcome): StudResult {
  return outcome.type === 'output' ? { ok: true, value: outcome.data } : { ok: false, error: toStudError(outcome) }
}

/** undefined when the value is not stud's result. */
export function fromStud(value: unknown): Reading | undefined {
  const parsed = returned.safeParse(value)
  if (!parsed.success) return undefined
  const { data: read } = parsed
  return {
    body: read.ok ? { type: 'output', data: read.value } : errorBody(read.error.class, read.error.code, read.error.context ?? {}),
    metadata: {},
  }
}

function codeOf(cls: StudClass, code: string): ErrorCode {
  return isErrorCode(code) ? code : FOREIGN.get(code) ?? BY_CLASS[cls] ?? 'ToolExecutionFailed'
}

/** The text a model is told travels in the context as `message`. Class and code are remembered where ours differ. */
function errorBody(cls: StudClass, code: string, context: JsonObject): Omit<ErrorOutcome, 'metadata'> {
  const { message, ...rest } = context
  const ours = codeOf(cls, code)
  const facts: JsonObject = {
    ...(typeof message === 'string' || message === undefined ? rest : context),
    ...(ours === code && ERRORS[ours].class === cls ? {} : { stud: { class: cls, code } }),
  }
  return {
    type: 'error',
    error_text: typeof message === 'string' ? message : wordless(cls, code),
    error: errorOf(ours, Object.keys(facts).length > 0 ? facts : undefined),
  }
}

function toStudError({ error, error_text }: ErrorOutcome): z.infer<typeof studError> {
  const { stud, ...rest } = contextOf(error.data)
  const said = remembered.safeParse(stud).data
  // Quoted only where it means the code that the host settled on.
  const quoted = said !== undefined && codeOf(said.class, said.code) === error.code
  const named = quoted ? said : { class: ERRORS[error.code].class, code: error.code }
  const facts = quoted ? rest : contextOf(error.data)
  return { ...named, context: error_text === wordless(named.class, named.code) ? facts : { ...facts, message: error_text } }
}

const contextOf = (data: Json | undefined): JsonObject => data === undefined ? {} : isJsonObject(data) ? data : { value: data }
const wordless = (cls: StudClass, code: string): string => `The tool failed with ${cls}/${code} and did not say more.`
