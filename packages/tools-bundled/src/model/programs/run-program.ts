import {
  BulkheadError, NO_GRANT, type CompartmentLimits, type CompartmentRequest, type CompartmentSession, type ErrorCode,
  type Outcome, type Sandbox,
} from '@bulkhead/contract'
import { isJsonObject, type Json, type JsonObject } from '@bulkhead/kit/json'
import { visibleText } from '@bulkhead/kit/text'
import { ConsoleText } from './console-text.ts'
import { PARALLEL_CALLS, PROGRAM, programFiles } from './program-files.ts'
import { inProgram, locateSyntaxError, type CodePosition } from './syntax.ts'

/** Where programs run. */
export interface ProgramPlace {
  readonly open: Sandbox['open']
  readonly limits: CompartmentLimits
}

export interface ProgramRun {
  readonly code: string
  readonly signal: AbortSignal
  /** How long the program may compute. Time in which a call of a tool is open does not count. Absent: no limit. */
  readonly computeMs?: number
  /** Answers the calls of the program. Absent: it has no tools. */
  callTool?(name: string, args: Json): Promise<Outcome>
}

export interface ProgramResult {
  readonly value: Json
  readonly console: string
}

/**
 * Runs a program in a new compartment, which has no powers and ends with it. Rejects with ProgramFailed if the program
 * fails or exceeds a limit, whose code is `data.code`; with OutputTooLarge and OutputMalformed; with ResourceBusy if it
 * could not start; and with the reason of the signal.
 */
export async function runProgram(place: ProgramPlace | undefined, run: ProgramRun): Promise<ProgramResult> {
  if (place === undefined) {
    throw new BulkheadError('CapabilityUnavailable', 'This host has no sandbox for programs. Pass `programs`.')
  }
  const output = new ConsoleText()
  const compute = new ComputeLimit(run.computeMs)
  const stop = AbortSignal.any([run.signal, compute.signal])
  let session: CompartmentSession | undefined
  try {
    session = await place.open(requestFor(place, run, output, compute, stop))
    compute.start()
    const report = await session.call({
      callId: PROGRAM, tool: PROGRAM, args: { callsTools: run.callTool !== undefined }, signal: stop,
    })
    return { value: valueIn(report, run, output), console: output.text }
  } catch (thrown) {
    run.signal.throwIfAborted()
    throw failureOf(thrown, compute.signal, output)
  } finally {
    compute.end()
    // The answer does not wait for the end of the process.
    void session?.close()
  }
}

function requestFor(
  { limits }: ProgramPlace, { code, callTool }: ProgramRun, output: ConsoleText, compute: ComputeLimit,
  signal: AbortSignal,
): CompartmentRequest {
  let open = 0
  return {
    extension: { id: PROGRAM, version: '1.0.0', layer: 'project' },
    placement: 'process',
    code: { kind: 'files', main: 'index.js', files: programFiles(code, callTool !== undefined) },
    tools: [{
      name: PROGRAM, inputSchema: {}, requires: {},
      grant: callTool === undefined ? NO_GRANT : { ...NO_GRANT, capabilities: ['tools.call'] },
    }],
    config: {},
    limits,
    services: {
      log: ({ text }) => output.add(text),
      env: new Map(),
      envDeclared: new Set(),
      ...(callTool && {
        async callTool(_callId, name, args) {
          if (open >= PARALLEL_CALLS) {
            throw new BulkheadError('TooManyCalls', `A program may have ${PARALLEL_CALLS} calls open at once.`)
          }
          open++
          const resume = compute.pause()
          try {
            return await callTool(name, args)
          } finally {
            open--
            resume()
          }
        },
      }),
    },
    signal,
  }
}

/** The value of the report. Throws ProgramFailed for a fault, and for a report that the program forged. */
function valueIn(report: Json, { code, callTool }: ProgramRun, output: ConsoleText): Json {
  if (isJsonObject(report) && report['value'] !== undefined) return report['value']
  const fault = isJsonObject(report) ? report['fault'] : undefined
  if (!isJsonObject(fault)) throw failed('The program replaced its own report.', output)
  const callsTools = callTool !== undefined
  const place = fault['isSyntax'] === true ? locateSyntaxError(code, callsTools) : positionOf(fault, callsTools)
  const name = textOf(fault['name'], 100)
  const message = textOf(fault['message'], 4_000).replace(DECLARES, ' is not available to a program. Use another tool.')
  const where = place === undefined ? '' : `, line ${place.line}`
  const hint = fault['isSyntax'] === true && IMPORTS.test(code) ? NO_IMPORTS : ''
  throw failed(`${name}${where}: ${message}${hint}`, output, {
    name, ...place,
    ...(typeof fault['code'] === 'string' && { code: textOf(fault['code'], 100) }),
  })
}

/** The lockdown tells authors of extensions what to declare. A program has no manifest. */
const DECLARES = / (?:works only during a call of a tool|exists only in an extension) that declares .*$/s
const IMPORTS = /^[ \t]*(?:import|export|from)\b/m
const NO_IMPORTS = '. A program is the body of an async function in JavaScript, without imports and exports'

const textOf = (value: Json | undefined, chars: number): string =>
  visibleText(typeof value === 'string' ? value.slice(0, chars) : '', { keepLines: true })

/** Where the stack of a fault says that it was thrown. */
function positionOf({ line, column }: JsonObject, callsTools: boolean): CodePosition | undefined {
  return isPlace(line) && isPlace(column) ? inProgram({ line, column }, callsTools) : undefined
}

const isPlace = (value: Json | undefined): value is number => Number.isSafeInteger(value) && Number(value) > 0

const KEPT: ReadonlySet<ErrorCode> = new Set<ErrorCode>(['ProgramFailed', 'OutputTooLarge', 'OutputMalformed'])

/** A tool may not use the codes of compartments: its own compartment, which is this thread, is well. */
function failureOf(thrown: unknown, compute: AbortSignal, output: ConsoleText): BulkheadError {
  const error = BulkheadError.from(compute.aborted ? compute.reason : thrown)
  const { code, message } = error
  // The program has not run, so the call can be repeated.
  if (code === 'NoPlaceFree') return new BulkheadError('ResourceBusy', message, { cause: error })
  return KEPT.has(code) ? error : failed(`The program was ended: ${message}`, output, { code })
}

function failed(message: string, { text }: ConsoleText, data: Readonly<Record<string, Json>> = {}): BulkheadError {
  return new BulkheadError('ProgramFailed', text === '' ? message : `Console:\n${text}\n\n${message}`, { data })
}

/** Ends a program that computes for too long. The time stops while calls are open. */
class ComputeLimit {
  readonly #controller = new AbortController()
  #leftMs: number
  #open = 0
  #since: number | undefined
  #timer: NodeJS.Timeout | undefined

  constructor(ms = Infinity) {
    this.#leftMs = ms
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  start(): void {
    if (this.#leftMs === Infinity || this.#since !== undefined) return
    this.#since = performance.now()
    this.#timer = setTimeout(() => this.#controller.abort(tooLong()), Math.max(this.#leftMs, 0))
  }

  /** Calls that end later do not start it again. */
  end(): void {
    this.#stop()
    this.#leftMs = Infinity
  }

  #stop(): void {
    clearTimeout(this.#timer)
    if (this.#since !== undefined) this.#leftMs -= performance.now() - this.#since
    this.#since = undefined
  }

  pause(): () => void {
    if (this.#open++ === 0) this.#stop()
    return () => {
      if (--this.#open === 0) this.start()
    }
  }
}

const tooLong = (): BulkheadError => new BulkheadError(
  'ExecutionTimeout', 'it ran for too long between its calls. Check its loops and what it awaits, or do less at once.',
)
