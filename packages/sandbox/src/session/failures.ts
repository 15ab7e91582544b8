import { BulkheadError, type CompartmentCode, type CompartmentRequest } from '@bulkhead/contract'
import { isJsonObject } from '@bulkhead/kit/json'
import { compartmentError, ON_LOAD } from './errors.ts'
import { traceOf, type TracedError } from './trace.ts'

/** An error of a compartment, and where in the code of the extension it was thrown. */
export interface CompartmentFailure {
  readonly extension: CompartmentRequest['extension']
  /** Whether this process built the code, from the folder of its developer. */
  readonly isOwn: boolean
  /** Set for a call of a tool. */
  readonly callId: string | undefined
  readonly error: BulkheadError
  /** The error and its causes. */
  readonly trace: readonly TracedError[]
}

/** Contract: must not throw. */
export type FailureListener = (failure: CompartmentFailure) => void

/** Reports an error that the code of the extension threw. The search costs nothing unless there is a listener. */
export function reportFailure(
  error: BulkheadError, { extension, code }: CompartmentRequest, callId: string | undefined,
  listener: FailureListener | undefined,
): void {
  if (listener === undefined) return
  const trace = traceOf(error, code)
  const isOwn = code.kind === 'files' && code.origins !== undefined
  if (trace.length > 0) listener({ extension, isOwn, callId, error, trace })
}

/** An error while the code was imported, with the file and line as they were written, and how they were imported. */
export function loadFailure(error: unknown, { code }: CompartmentRequest): BulkheadError {
  const failed = compartmentError(error, ON_LOAD)
  if (code.kind === 'module') return failed
  const isOfImport = failed.code === ON_LOAD.fallback && failed !== error
  const main = code.origins?.main ?? code.main.replace(/^\.\//, '')
  const message = isOfImport ? `${main} could not be imported: ${failed.message}` : failed.message
  const place = placeText(failed, code)
  if (message === failed.message && place === undefined) return failed
  const whole = place === undefined ? message : message.replace(/(\.?)$/, ` (${place})$1`)
  return new BulkheadError(failed.code, whole, { cause: failed, ...(failed.data !== undefined && { data: failed.data }) })
}

/** Where it was thrown; for a module that is not available, where it is imported. */
function placeText(error: BulkheadError, code: Extract<CompartmentCode, { kind: 'files' }>): string | undefined {
  const [frame] = traceOf(error, code)[0]?.frames ?? []
  if (frame !== undefined) {
    const chain = code.origins?.chainTo(frame.file) ?? []
    const place = `${frame.file}, line ${frame.line}`
    return chain.length > 1 ? `${place}: ${chain.join(' → ')}` : place
  }
  const { module, specifier, importer } = isJsonObject(error.data) ? error.data : {}
  const wanted = typeof module === 'string' ? `node:${module}` : specifier ?? NOT_EXPORTED.exec(error.message)?.[1]
  if (typeof wanted !== 'string') return undefined
  const { file, line } = code.origins?.importOf(wanted) ?? {}
  const isWritten = typeof importer === 'string' && code.origins?.placeOf(importer, 1, 1)?.file === importer
  const place = line !== undefined ? `${file}, line ${line}` : isWritten ? importer : code.origins?.main ?? importer
  return typeof place === 'string' ? `imported in ${place}` : undefined
}

/** V8's message for a name that a module does not export. It comes without a place. */
const NOT_EXPORTED = /^The requested module '([^']+)' does not provide an export/
