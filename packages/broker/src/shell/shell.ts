import { BulkheadError, type ChangeRecorder, type CompartmentTool, type WorkspaceClient } from '@bulkhead/contract'
import type { Json, JsonObject } from '@bulkhead/kit/json'
import type { ClientOf } from '../fs/client-files.ts'
import type { HostFolders } from '../fs/file-scope.ts'
import type { CapabilityUnit, OpenCall } from '../model/capability.ts'
import { UntrustedFolders } from '../process/executable.ts'
import type { SecretsCapability } from '../secrets/secrets.ts'
import {
  operatorEnvironment, restrictedEnvironment, runsAnyCommand, type OperatorEnvironment,
} from './command-environment.ts'
import type { MissingSandboxReporter } from './command-sandbox.ts'
import { fitsTerminal } from './client-terminal.ts'
import {
  checkPipe, checkRequest, readPipeRequest, readRequest, withSecrets, withStageSecrets, type PipeRequest,
  type StageRequest,
} from './request.ts'
import { Starter, SYSTEM_PATH, type StartedCommand } from './starter.ts'

export interface ShellOptions extends HostFolders {
  readonly workspace: string
  /** All tools of the compartment. Folders that any of them may write are untrusted for programs. */
  readonly tools: readonly Pick<CompartmentTool, 'grant'>[]
  /** Absolute folders where commands are searched. Also their PATH. */
  readonly path?: readonly string[]
  /** Commands of one compartment at once, with cancelled ones that have not ended. → TooManyCalls */
  readonly concurrentRuns?: number
  /** Kept of the head of each stream, in bytes. */
  readonly outputBytes?: number
  /** The folder of the project layer, which no command in a sandbox may write. */
  readonly projectLayer?: string | undefined
  /** Between SIGTERM and SIGKILL, in ms. */
  readonly graceMs?: number
  /** How long output may pause after a command has ended, while a process it started still holds its pipes, in ms. */
  readonly drainMs?: number
  /** Between two updates with output, in ms. */
  readonly updateMs?: number
  /** Replaces handles in arguments and input, and redacts output. */
  readonly secrets?: SecretsCapability | undefined
  /** For tools that may run every command. Absent: they get the restricted environment, too. */
  readonly operator?: OperatorEnvironment | undefined
  /** Called when commands run without a sandbox. */
  readonly missingSandbox?: MissingSandboxReporter | undefined
  /** Without a working sandbox no command runs. */
  readonly requiresSandbox?: boolean | undefined
  /** The code ships with the host and runs in its thread. */
  readonly isBundled?: boolean
  readonly platform?: NodeJS.Platform
  /** Commands are checked and not run: each succeeds without output. */
  readonly runsNothing?: boolean
  /** The client of the session of a call, for commands that fit into its terminal. */
  readonly clientOf?: ClientOf | undefined
  readonly changes?: ChangeRecorder | undefined
}

/** Runs the commands of the grant by name and argument vector, without a shell. */
export function shellCapability(options: ShellOptions): CapabilityUnit {
  const { workspace, tools, secrets, operator, reserved, readOnly, layerName, projectLayer } = options
  const { missingSandbox, requiresSandbox, isBundled = false, runsNothing = false } = options
  const { path = SYSTEM_PATH, platform = process.platform } = options
  const { concurrentRuns = 8, outputBytes = 200 * 1024, graceMs = 300, drainMs = 100, updateMs = 100 } = options
  // Without process groups a command cannot be ended together with what it started.
  if (platform === 'win32') return { capabilities: {}, endCall: () => undefined, close: async () => undefined }

  const starterIn = (roots: readonly string[]): Starter => {
    const untrusted = new UntrustedFolders(
      [workspace, ...roots, ...tools.flatMap(({ grant }) => grant.fs.write)],
      [workspace, ...roots, ...tools.flatMap(({ grant }) => grant.fs.roots ?? [])],
    )
    const restricted = restrictedEnvironment(path, outputBytes, untrusted)
    const operators = operator === undefined ? restricted : operatorEnvironment(operator, untrusted)
    return new Starter({
      workspace, roots, untrusted, projectLayer, secrets, missingSandbox, requiresSandbox, graceMs, drainMs, updateMs,
      folders: { reserved, readOnly, layerName },
      home: operator?.env.HOME,
      environmentOf: ({ tool }) => runsAnyCommand(tool) ? operators : restricted,
    })
  }
  const starters = new Map([['', starterIn([])]])
  /** Sessions with the same roots share a starter. */
  const starterOf = ({ tool: { grant: { fs: { commandRoots = [] } } } }: OpenCall): Starter =>
    starters.getOrInsertComputed(commandRoots.join('\0'), () => starterIn(commandRoots))
  const running = new RunningCommands(concurrentRuns)
  /**
   * A terminal shows its output, and has the variables of its client. So it gets no secrets, no commands of tools with
   * a restricted environment, none that only read (they run without approval), and none whose output is not shown.
   */
  const terminalFor = (call: OpenCall, { stages, wall, quiet }: PipeRequest): WorkspaceClient['run'] => {
    const isShown = stages.length === 1 && fitsTerminal(stages[0]!) && wall !== 'read' && !quiet
    if (!isShown || secrets !== undefined || !runsAnyCommand(call.tool)) return undefined
    const client = options.clientOf?.(call.hostCallId ?? call.callId)
    return client?.run?.bind(client)
  }
  /** The command as it was asked for, so that no secret is recorded. */
  const record = async ({ callId, hostCallId = callId }: OpenCall, stages: readonly CommandLine[]): Promise<void> => {
    const line = stages.map(({ cmd, args, as = { cmd, args } }) => [as.cmd, ...as.args].join(' ')).join(' | ')
    await options.changes?.command(hostCallId, line.slice(0, RECORDED_CHARS))
  }
  return {
    capabilities: {
      async 'shell.run'(call, args) {
        const asked = readRequest(args)
        checkRequest(call.tool, asked)
        if (runsNothing) return { ...SUCCESS, ...NO_OUTPUT }
        call.effects?.add('sentBytes', Buffer.byteLength(asked.input ?? ''))
        await record(call, [asked])
        const request = secrets === undefined ? asked : withSecrets(asked, secrets.of(call.callId))
        return running.run(call, (stop) => starterOf(call).start(call, request, stop))
      },
      async 'shell.pipe'(call, args) {
        const asked = readPipeRequest(args)
        checkPipe(call.tool, asked, isBundled)
        if (runsNothing) return { exits: asked.stages.map(() => SUCCESS), ...NO_OUTPUT, timedOut: false }
        const { input } = asked.stages[0]!
        if (typeof input === 'string') call.effects?.add('sentBytes', Buffer.byteLength(input))
        if (mayWrite(asked)) await record(call, asked.stages)
        const request = secrets === undefined ? asked : withStageSecrets(asked, secrets.of(call.callId))
        const run = terminalFor(call, asked)
        return running.run(call, (stop) => run
          ? starterOf(call).startInTerminal(call, request, run, stop) : starterOf(call).startPipe(call, request, stop))
      },
    },
    endCall: (callId) => running.endCall(callId),
    close: () => running.close(),
  }
}

type CommandLine = Pick<StageRequest, 'cmd' | 'args'> & Partial<Pick<StageRequest, 'as'>>

/** Kept of a command line that may have changed something. */
const RECORDED_CHARS = 1_000

const mayWrite = ({ stages, wall }: PipeRequest): boolean =>
  wall !== 'read' || stages.some(({ stdout, stderr }) => typeof stdout === 'object' || typeof stderr === 'object')

const SUCCESS = { exitCode: 0, signal: null }
const NO_OUTPUT = { stdout: '', stderr: '', truncated: false }

/** A command that is being looked up, running, or being ended. */
interface Attempt {
  readonly callId: string
  readonly stop: AbortController
  /** Whether it counts against the limit: until it has a result. */
  busy: boolean
  over: Promise<unknown>
}

/** The commands of a compartment. Limits their number, and ends each with its call. */
class RunningCommands {
  readonly #most: number
  readonly #open = new Set<Attempt>()
  #closed = false

  constructor(most: number) {
    this.#most = most
  }

  async run(call: OpenCall, start: (stop: AbortSignal) => Promise<StartedCommand>): Promise<Json> {
    const attempt = this.#admit(call.callId)
    const { stop } = attempt
    const abort = (): void => stop.abort(BulkheadError.from(call.signal.reason, 'ToolCancelled'))
    call.signal.addEventListener('abort', abort, { once: true })
    const starting = start(stop.signal).then((started) => {
      const end = (): void => started.end(BulkheadError.from(stop.signal.reason, 'ToolCancelled'))
      stop.signal.addEventListener('abort', end, { once: true })
      if (stop.signal.aborted) end()
      return started
    })
    attempt.over = starting.then(({ gone }) => gone, () => undefined).finally(() => this.#open.delete(attempt))
    try {
      if (call.signal.aborted) abort()
      const { result } = await starting
      const settled = await result
      attempt.busy = false
      return { ...settled } as unknown as JsonObject
    } finally {
      call.signal.removeEventListener('abort', abort)
    }
  }

  endCall(callId: string): void {
    for (const attempt of this.#open) if (attempt.callId === callId) attempt.stop.abort(callOverError())
  }

  async close(): Promise<void> {
    this.#closed = true
    for (const { stop } of this.#open) stop.abort(closedError())
    await Promise.all([...this.#open].map(({ over }) => over))
  }

  #admit(callId: string): Attempt {
    if (this.#closed) throw closedError()
    if ([...this.#open].filter(({ busy }) => busy).length >= this.#most) {
      throw new BulkheadError(
        'TooManyCalls',
        `The extension already runs ${this.#most} commands. Wait until one of them ends.`,
      )
    }
    const attempt: Attempt = { callId, stop: new AbortController(), busy: true, over: Promise.resolve() }
    this.#open.add(attempt)
    return attempt
  }
}

const callOverError = (): BulkheadError =>
  new BulkheadError('ToolCancelled', 'The command was ended because its call has ended. Await it inside the call.')
const closedError = (): BulkheadError =>
  new BulkheadError('CompartmentKilled', 'The command was ended because its compartment is closed. Call again.')
