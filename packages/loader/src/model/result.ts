import { isAbsolute, join } from 'node:path'
import {
  BulkheadError, ERRORS, layerRank, MANIFEST_FILE, type Diagnostic, type ErrorCode, type ExtensionDescriptor,
  type Layer, type ValidationStage,
} from '@bulkhead/contract'
import { givesAdvice } from '@bulkhead/kit/text'

/** One problem, as a stage reports it. A stage does not know the layer or the folder. */
export interface Fault {
  readonly stage: ValidationStage
  readonly code: ErrorCode
  /** JSON Pointer in the manifest, the configuration or `file`. */
  readonly path: string
  readonly message: string
  /** Replaces the cure of the error table where a better one is known. */
  readonly cure?: string
  /** The file at fault, relative to the folder of the extension. */
  readonly file?: string
  /** The absolute path at fault, where it is outside the folder of the extension. */
  readonly location?: string
}

/** The most faults that are reported at once. */
export const MAX_FAULTS = 20

/** Contract: a stage never throws because of its input. */
export type StageResult<T> = Passed<T> | { readonly ok: false; readonly faults: readonly Fault[] }

export interface Passed<T> {
  readonly ok: true
  readonly value: T
  readonly warnings: readonly Fault[]
}

const NO_FAULTS: readonly Fault[] = Object.freeze([])

export const pass = <T>(value: T, warnings = NO_FAULTS): Passed<T> => ({ ok: true, value, warnings })
export const refuse = (...faults: readonly [Fault, ...Fault[]]): StageResult<never> => ({ ok: false, faults })
export const passUnless = <T>(faults: readonly Fault[], value: T): StageResult<T> =>
  faults.length === 0 ? pass(value) : { ok: false, faults }

/** Runs the next stage on the value of a passed one, and keeps the warnings of both. A refusal is returned as it is. */
export function next<From, To>(result: StageResult<From>, stage: (value: From) => StageResult<To>): StageResult<To> {
  return result.ok ? withWarnings(result.warnings, stage(result.value)) : result
}

export async function nextAsync<From, To>(
  result: StageResult<From>, stage: (value: From) => Promise<StageResult<To>>,
): Promise<StageResult<To>> {
  return result.ok ? withWarnings(result.warnings, await stage(result.value)) : result
}

const withWarnings = <T>(earlier: readonly Fault[], result: StageResult<T>): StageResult<T> =>
  !result.ok || earlier.length === 0 ? result : pass(result.value, [...earlier, ...result.warnings])

export interface Subject {
  readonly layer: Layer
  readonly extensionId: string | null
  readonly location: string
}

/** Adds layer, location and cure to a fault. */
export function diagnose(subject: Subject, fault: Fault, severity: Diagnostic['severity'] = 'error'): Diagnostic {
  return Object.freeze({
    severity,
    stage: fault.stage,
    code: fault.code,
    layer: subject.layer,
    extensionId: subject.extensionId,
    location: placeOf(subject, fault),
    path: fault.path,
    message: fault.message,
    cure: fault.cure ?? ERRORS[fault.code].cure,
  })
}

function placeOf({ location }: Subject, fault: Fault): string {
  if (fault.location !== undefined) return fault.location
  if (fault.file !== undefined) return join(location, fault.file)
  // A pointer without a file points into the manifest. A bundled module has no manifest file.
  return fault.path === '' || !isAbsolute(location) ? location : join(location, MANIFEST_FILE)
}

/** A refused extension is a warning if a lower layer has one with the same id, which is used instead. */
export function withFallbacks(
  diagnostics: readonly Diagnostic[], loaded: readonly ExtensionDescriptor[],
): readonly Diagnostic[] {
  if (!diagnostics.some(({ severity, extensionId }) => severity === 'error' && extensionId !== null)) return diagnostics
  const layersById = Map.groupBy(loaded, ({ id }) => id)
  return diagnostics.map((diagnostic) => {
    if (diagnostic.severity === 'warning' || diagnostic.extensionId === null) return diagnostic
    const rank = layerRank(diagnostic.layer)
    const fallback = layersById.get(diagnostic.extensionId)?.findLast(({ layer }) => layerRank(layer) < rank)
    if (fallback === undefined) return diagnostic
    return Object.freeze({ ...diagnostic, severity: 'warning' as const, fallbackTo: fallback.layer })
  })
}

/** The most faults in one error message. */
const MAX_SHOWN = 4

/** The faults of a package as one error: each with its file, then the cures. */
export function faultError(faults: readonly Fault[]): BulkheadError {
  const first = faults[0]!
  const shown = faults.slice(0, MAX_SHOWN)
  const messages = shown.map(({ file, message }, index) => {
    const isNamed = file === undefined || message.includes(file) || file === faults[index - 1]?.file
    return isNamed ? message : `${file}: ${message}`
  })
  if (faults.length > MAX_SHOWN) messages.push(`(and ${faults.length - MAX_SHOWN} more)`)
  const text = messages.join(' ')
  const own = new Set(shown.flatMap(({ cure }) => cure ?? []))
  // The command line adds no cure to a message that already gives advice.
  const cures = own.size === 0 && givesAdvice(text) ? [ERRORS[first.code].cure] : own
  return new BulkheadError(first.code, [text, ...cures].join(' '), { data: { stage: first.stage, path: first.path } })
}
