import { isAbsolute, join } from 'node:path'
import { BulkheadError, ERRORS, layerRank, MANIFEST_FILE, type Diagnostic, type ExtensionDescriptor, type Layer } from '@bulkhead/contract'
import { givesAdvice } from '@bulkhead/kit/text'
import type { Fault } from './result.ts'

/** Whom a diagnostic is about. */
export interface Subject {
  readonly layer: Layer
  readonly extensionId: string | null
  readonly location: string
}

/** The one place where a fault gets its layer, its location and its cure. */
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
  // A pointer that names no file points into the manifest, which a module of the host has in memory only.
  return fault.path === '' || !isAbsolute(location) ? location : join(location, MANIFEST_FILE)
}

/** A refused override takes nothing away when a lower layer has the same id: it is a warning that says who serves instead. */
export function withFallbacks(diagnostics: readonly Diagnostic[], loaded: readonly ExtensionDescriptor[]): readonly Diagnostic[] {
  if (!diagnostics.some(({ severity, extensionId }) => severity === 'error' && extensionId !== null)) return diagnostics
  const layersById = Map.groupBy(loaded, ({ id }) => id)
  return diagnostics.map((diagnostic) => {
    if (diagnostic.severity === 'warning' || diagnostic.extensionId === null) return diagnostic
    const below = layersById.get(diagnostic.extensionId)?.filter(({ layer }) => layerRank(layer) < layerRank(diagnostic.layer))
    const serving = below?.at(-1)
    if (serving === undefined) return diagnostic
    return Object.freeze({ ...diagnostic, severity: 'warning' as const, fallbackTo: serving.layer })
  })
}

/** A longer list hides what to do about it. */
const MOST = 4

/** What is wrong with a package, as one error for whoever hands it over: each thing with its file, and what cures it. */
export function faultError(faults: readonly Fault[]): BulkheadError {
  const first = faults[0]!
  const told = faults.slice(0, MOST)
  const said = told.map(({ file, message }, index) => file === undefined || message.includes(file) || file === faults[index - 1]?.file
    ? message : `${file}: ${message}`)
  const text = [...said, ...(faults.length > MOST ? [`(and ${faults.length - MOST} more of the like)`] : [])].join(' ')
  const own = new Set(told.flatMap(({ cure }) => cure ?? []))
  // Whoever shows an error takes several sentences for advice enough.
  const cures = own.size === 0 && givesAdvice(text) ? [ERRORS[first.code].cure] : own
  return new BulkheadError(first.code, [text, ...cures].join(' '), { data: { stage: first.stage, path: first.path } })
}
