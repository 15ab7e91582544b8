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
  return withPlace(failed, code, isOfImport ? `${main} could not be imported: ${failed.message}` : failed.message)
}

/** An error of a call. For a missing module of Node it has the packages that use it, if this process built the code. */
export function callFailure(error: BulkheadError, { code }: CompartmentRequest): BulkheadError {
  return error.code === 'BuiltinDenied' && code.kind === 'files' && code.origins !== undefined
    ? withPlace(error, code, error.message) : error
}

type Files = Extract<CompartmentCode, { kind: 'files' }>

function withPlace(failed: BulkheadError, code: Files, message: string): BulkheadError {
  const { place, chain } = placeOf(failed, code)
  if (message === failed.message && place === undefined) return failed
  const located = place === undefined ? message : message.replace(/(\.?)$/, ` (${withChain(place, chain)})$1`)
  return new BulkheadError(failed.code, `${located}${insteadOf(chain)}`, {
    cause: failed, ...(failed.data !== undefined && { data: failed.data }),
  })
}

interface Place {
  readonly place: string | undefined
  /** Files and packages, from the main module. */
  readonly chain: readonly string[]
}

/** Where it was thrown; for a module that is not available, where it is imported. */
function placeOf(error: BulkheadError, { origins, ...code }: Files): Place {
  const [frame] = traceOf(error, { origins, ...code })[0]?.frames ?? []
  const { module, specifier, importer } = isJsonObject(error.data) ? error.data : {}
  const wanted = typeof module === 'string' ? `node:${module}` : specifier ?? NOT_EXPORTED.exec(error.message)?.[1]
  const chain = typeof wanted === 'string' ? origins?.chainTo(wanted) ?? [] : []
  if (frame !== undefined) {
    const place = `${frame.file}, line ${frame.line}`
    return { place, chain: chain.length > 0 ? chain : origins?.chainTo(frame.file) ?? [] }
  }
  if (typeof wanted !== 'string') return { place: undefined, chain }
  const { file, line } = origins?.importOf(wanted) ?? {}
  const isWritten = typeof importer === 'string' && origins?.placeOf(importer, 1, 1)?.file === importer
  const name = line !== undefined ? `${file}, line ${line}` : isWritten ? importer : origins?.main ?? importer
  return { place: typeof name === 'string' ? `imported in ${name}` : undefined, chain }
}

/** V8's message for a name that a module does not export. It comes without a place. */
const NOT_EXPORTED = /^The requested module '([^']+)' does not provide an export/

const withChain = (place: string, chain: readonly string[]): string =>
  chain.length > 1 ? `${place}: ${chain.join(' → ')}` : place

const OVER_HTTP = 'a service with an interface over HTTP, which `fetch` can call'
/** For packages that many tools try and that cannot work. */
const INSTEAD: ReadonlyMap<string, string> = new Map([
  ['undici', 'the global `fetch`'], ['jsdom', 'cheerio, which reads a page without running it'],
  ...['pg', 'mysql2', 'mongodb', 'ioredis', 'redis', 'nodemailer', 'ws'].map((name) => [name, OVER_HTTP] as const),
])

/** What to use in place of a package, as a sentence. */
function insteadOf(chain: readonly string[]): string {
  const known = chain.find((name) => INSTEAD.has(name))
  return known === undefined ? '' : ` Instead of ${known}, use ${INSTEAD.get(known)!}.`
}
