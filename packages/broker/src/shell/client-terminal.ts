import {
  BulkheadError, type ClientCommand, type ClientRun, type PipeResult, type WholeOutput, type WorkspaceClient,
} from '@bulkhead/contract'
import { messageOf } from '@bulkhead/kit/error-message'
import type { StageRequest } from './request.ts'

/** How long a client may take to end a command. */
const GIVE_UP_MS = 5_000

/** A command with one output stream, which is all that a terminal has. */
export const fitsTerminal = ({ input, stdout, stderr }: Pick<StageRequest, 'input' | 'stdout' | 'stderr'>): boolean =>
  input === undefined && stdout === 'out' && (stderr === 'err' || stderr === 'out')

export interface TerminalRunParts {
  readonly run: NonNullable<WorkspaceClient['run']>
  readonly command: ClientCommand
  readonly callId: string
  readonly timeoutMs: number | undefined
  readonly whole: WholeOutput | undefined
  /** Releases the sandbox of the command. */
  release(): Promise<void>
}

/** A command in the terminal of a client, from its start until the client says that it has ended. */
export class TerminalRun {
  /** Settles once. Both streams are in `stdout`. */
  readonly result: Promise<PipeResult>
  /** Never rejects. */
  readonly gone: Promise<void>
  readonly #stop = new AbortController()
  readonly #settled = Promise.withResolvers<PipeResult>()
  #timer: NodeJS.Timeout | undefined
  #timedOut = false

  constructor({ run, command, callId, timeoutMs, whole, release }: TerminalRunParts) {
    this.result = this.#settled.promise
    this.result.catch(() => undefined)
    const start = async (): Promise<ClientRun> => run(command, { callId, signal: this.#stop.signal })
    const ended = start().then((found) => bounded(found, command.outputBytes)).then(
      (found) => {
        void whole?.add('stdout', Buffer.from(found.output))
        this.#settle(found)
      },
      (error: unknown) => this.#timedOut ? this.#settle(NOTHING) : this.#settled.reject(clientError(error)),
    )
    this.gone = Promise.race([ended, this.#abandoned()])
      .finally(() => {
        clearTimeout(this.#timer)
        return release()
      })
    if (timeoutMs !== undefined) {
      this.#timer = setTimeout(() => {
        this.#timedOut = true
        this.#stop.abort()
      }, timeoutMs)
    }
  }

  /** Idempotent. Rejects the result at once. */
  end(reason: BulkheadError): void {
    this.#settled.reject(reason)
    this.#stop.abort(reason)
  }

  #settle({ exitCode, signal, output: stdout, truncated }: ClientRun): void {
    this.#settled.resolve({ exits: [{ exitCode, signal }], stdout, stderr: '', truncated, timedOut: this.#timedOut })
  }

  /** A client that does not answer does not keep the compartment open. */
  #abandoned(): Promise<void> {
    return new Promise((resolve) => {
      this.#stop.signal.addEventListener('abort', () => {
        setTimeout(() => {
          this.#settle(NOTHING)
          resolve()
        }, GIVE_UP_MS).unref()
      }, { once: true })
    })
  }
}

const NOTHING: ClientRun = { exitCode: null, signal: 'SIGKILL', output: '', truncated: false }

/** A client may send more than it was asked for. */
function bounded({ exitCode, signal, output, truncated }: ClientRun, outputBytes: number): ClientRun {
  const bytes = Buffer.from(output)
  if (bytes.length <= outputBytes) return { exitCode, signal, output, truncated }
  return { exitCode, signal, output: bytes.subarray(0, outputBytes).toString(), truncated: true }
}

const clientError = (error: unknown): BulkheadError =>
  new BulkheadError('ToolExecutionFailed', `The client could not run the command: ${messageOf(error)}`)
