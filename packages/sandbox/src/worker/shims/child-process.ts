import { Buffer } from 'node:buffer'
import { EventEmitter } from 'node:events'
import { Readable, Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import type { Shell } from '@bulkhead/contract'
import { brokerPath, shimModule, type ShimHost } from './host.ts'

interface Options {
  readonly cwd?: string | URL
  readonly shell?: unknown
  readonly stdio?: unknown
  readonly timeout?: number
  readonly signal?: AbortSignal
  readonly encoding?: BufferEncoding | 'buffer' | null
  readonly [ignored: string]: unknown
}

interface Ending {
  readonly exitCode: number | null
  readonly signal: string | null
  readonly stdout: string
  readonly stderr: string
  readonly truncated: boolean
}

type Done = (error: Error | null, stdout: string | Buffer, stderr: string | Buffer) => void
interface Command {
  readonly file: string
  readonly args: readonly string[]
  readonly options: Options
}

const PROMISIFIED = Symbol.for('nodejs.util.promisify.custom')
const OTHERS = ['ChildProcess', 'exec', 'execFileSync', 'execSync', 'fork', 'spawnSync']
const TOO_LONG = 'ERR_CHILD_PROCESS_STDIO_MAXBUFFER'

/** `node:child_process` by `runtime.shell` of the current call. Output arrives when the command has ended. */
export function commandModule(host: ShimHost): object {
  const start = (name: string, command: Command): ChildProcess => {
    const shell = host.use(`${name} of node:child_process`, 'shell')
    return new ChildProcess(command, (input) => runIn(host, shell, command, input))
  }
  const spawn = (...given: unknown[]): ChildProcess => start('spawn', commandOf(given))
  const execFile = (...given: unknown[]): ChildProcess => {
    const done = typeof given.at(-1) === 'function' ? given.pop() as Done : undefined
    const { file, args, options } = commandOf(given)
    const child = start('execFile', { file, args, options: { ...options, stdio: 'pipe' } })
    child.collect((error, { stdout, stderr }) => {
      const asked = (text: string): string | Buffer =>
        options.encoding === 'buffer' || options.encoding === null ? Buffer.from(text) : text
      if (error !== null) Object.assign(error, { stdout, stderr })
      done?.(error, asked(stdout), asked(stderr))
    })
    return child
  }
  Object.defineProperty(execFile, PROMISIFIED, {
    value: (...given: unknown[]) => new Promise((resolve, reject) => {
      execFile(...given, (error: Error | null, stdout: unknown, stderr: unknown) => {
        if (error === null) resolve({ stdout, stderr })
        else reject(error)
      })
    }),
  })
  return shimModule(host, 'child_process', { spawn, execFile }, OTHERS)
}

/** `(file, args?, options?)`. */
function commandOf([file, second, third]: readonly unknown[]): Command {
  const [args, options] = Array.isArray(second) ? [second as readonly unknown[], third] : [[], second ?? third]
  return { file: String(file), args: args.map(String), options: { ...options as Options | undefined } }
}

async function runIn(
  host: ShimHost, shell: Shell, { file, args, options }: Command, input: string | undefined,
): Promise<Ending> {
  const { cwd: given, timeout, signal } = options
  refuseOptions(host, options)
  signal?.throwIfAborted()
  const folder = given instanceof URL ? fileURLToPath(given) : given
  const cwd = folder === undefined ? undefined : brokerPath(host, String(folder))
  const where = cwd === undefined || cwd === '.' ? {} : { cwd }
  if (timeout === undefined || timeout <= 0) {
    return shell.run(file, args, { ...where, ...(input !== undefined && { input }) })
  }
  const stage = { cmd: file, args, ...(input !== undefined && { input }) }
  const { exits, timedOut, ...output } = await shell.pipe([stage], { ...where, timeoutMs: timeout })
  return { ...exits[0]!, ...(timedOut && { exitCode: null, signal: 'SIGTERM' }), ...output }
}

/** Contract: throws for what a command here cannot have. `env` is ignored: the host sets it. */
function refuseOptions(host: ShimHost, { shell, stdio }: Options): void {
  const refuse = (what: string): never => {
    throw host.error('InputInvalid', `A command in a compartment ${what}`)
  }
  if (shell !== undefined && shell !== false) refuse('runs without a shell. Pass its arguments as an array.')
  const streams = Array.isArray(stdio) ? stdio as readonly unknown[] : [stdio]
  if (streams.some((stream) => stream !== undefined && stream !== null && stream !== 'pipe' && stream !== 'ignore')) {
    refuse('has piped output only. Use "pipe" or "ignore" for `stdio`.')
  }
}

/** An output. The whole of it comes as one piece. */
class Output extends Readable {
  override _read(): void {}
}

/** Settles when a reader has taken all of it. Without a reader it is dropped, as Node does. */
function end(output: Output, text: string): Promise<void> {
  if (text !== '') output.push(text)
  output.push(null)
  setImmediate(() => {
    if (output.readableFlowing === null && output.listenerCount('readable') === 0) output.resume()
  })
  return new Promise<void>((done) => void output.once('close', done))
}

/** An input. The command starts when it ends. */
class Input extends Writable {
  readonly #pieces: Uint8Array[] = []
  readonly #ended = Promise.withResolvers<string>()

  override _write(piece: unknown, encoding: BufferEncoding, done: () => void): void {
    this.#pieces.push(typeof piece === 'string' ? Buffer.from(piece, encoding) : new Uint8Array(piece as Uint8Array))
    done()
  }

  override _final(done: () => void): void {
    this.#ended.resolve(Buffer.concat(this.#pieces).toString())
    done()
  }

  static async read(input: Input): Promise<string | undefined> {
    // The program that writes an input begins in the turn in which it starts the command.
    await new Promise<void>((turn) => void setImmediate(turn))
    return input.#pieces.length === 0 ? undefined : input.#ended.promise
  }
}

const { read } = Input

class ChildProcess extends EventEmitter {
  readonly stdin: Input | null
  readonly stdout: Output | null
  readonly stderr: Output | null
  readonly stdio: readonly (Input | Output | null)[]
  readonly pid = undefined
  readonly spawnfile: string
  readonly spawnargs: readonly string[]
  exitCode: number | null = null
  signalCode: string | null = null
  killed = false
  #collector: ((error: Error | null, ending: Ending) => void) | undefined

  constructor({ file, args, options }: Command, run: (input: string | undefined) => Promise<Ending>) {
    super()
    const stdio = Array.isArray(options.stdio) ? options.stdio as readonly unknown[] : Array(3).fill(options.stdio)
    this.spawnfile = file
    this.spawnargs = [file, ...args]
    this.stdin = stdio[0] === 'ignore' ? null : new Input()
    this.stdout = stdio[1] === 'ignore' ? null : new Output()
    this.stderr = stdio[2] === 'ignore' ? null : new Output()
    this.stdio = [this.stdin, this.stdout, this.stderr]
    const input = this.stdin === null ? Promise.resolve(undefined) : read(this.stdin)
    input.then(run).then((ending) => this.#over(ending), (error: unknown) => this.#failed(error as Error))
  }

  /** A command cannot be ended before its call, so no signal is sent. */
  kill(): boolean {
    return false
  }

  ref(): void {}

  unref(): void {}

  /** For `execFile`, which reports everything at once. */
  collect(collector: (error: Error | null, ending: Ending) => void): void {
    this.#collector = collector
  }

  #over(ending: Ending): void {
    const { exitCode, signal, stdout, stderr, truncated } = ending
    if (truncated) {
      return this.#failed(Object.assign(new RangeError(`The output of ${this.spawnfile} is too long, and was cut.`), {
        code: TOO_LONG,
      }), ending)
    }
    this.exitCode = exitCode
    this.signalCode = signal
    this.emit('spawn')
    const ends = [this.stdout !== null && end(this.stdout, stdout), this.stderr !== null && end(this.stderr, stderr)]
    this.stdin?.destroy()
    setImmediate(() => this.emit('exit', exitCode, signal))
    Promise.all(ends).then(() => setImmediate(() => this.emit('close', exitCode, signal)))
    const failure = exitCode === 0 ? null : Object.assign(
      new Error(`Command failed: ${this.spawnargs.join(' ')}\n${stderr}`),
      { code: exitCode, signal, killed: signal !== null, cmd: this.spawnargs.join(' ') },
    )
    this.#collector?.(failure, ending)
  }

  #failed(error: Error, ending: Ending = NO_OUTPUT): void {
    const failure = (error as { readonly code?: unknown }).code === 'NotFound'
      ? Object.assign(new Error(`spawn ${this.spawnfile} ENOENT`, { cause: error }), {
        code: 'ENOENT', syscall: `spawn ${this.spawnfile}`, path: this.spawnfile,
      })
      : error
    for (const output of [this.stdout, this.stderr]) if (output !== null) void end(output, '')
    if (this.#collector === undefined) this.emit('error', failure)
    this.#collector?.(failure, ending)
    // Libraries take anything but a number other than zero for a success.
    this.emit('close', ending.exitCode ?? NOT_RUN, ending.signal)
  }
}

const NOT_RUN = -1
const NO_OUTPUT: Ending = { exitCode: null, signal: null, stdout: '', stderr: '', truncated: false }
