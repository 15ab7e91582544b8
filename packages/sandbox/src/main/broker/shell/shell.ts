import { randomUUID } from 'node:crypto'
import type { CompartmentTool, Json, JsonObject } from '@bulkhead/contract'
import { BulkheadError } from '@bulkhead/contract'
import type { CapabilityUnit, OpenCall } from '../capability.ts'
import type { SecretsCapability } from '../secrets/secrets.ts'
import { Executables, proveUnchanged } from './executable.ts'
import { inheritableDescriptors, isInheritable } from './inheritable-descriptors.ts'
import { Launcher } from './launcher.ts'
import { Leftovers } from './leftovers.ts'
import { LiveOutput, type StreamName } from './live-output.ts'
import { OffLimits } from './off-limits.ts'
import type { PipeRequest } from './pipe/pipe-request.ts'
import { judgePipe, readPipeRequest, withStageSecrets } from './pipe/pipe-request.ts'
import { Fifos } from './pipe/fifos.ts'
import type { StartStage } from './pipe/pipeline.ts'
import { Pipeline } from './pipe/pipeline.ts'
import type { ShellRequest } from './request.ts'
import { judgeRequest, readRequest, withSecrets } from './request.ts'
import type { RunParts } from './run.ts'
import { Run } from './run.ts'
import { startFault } from './start-fault.ts'
import { StreamFiles } from './pipe/stream-files.ts'
import type { OperatorSurroundings, Surroundings } from './surroundings.ts'
import { cleanSurroundings, operatorSurroundings, runsAnyCommand } from './surroundings.ts'
import { Wall } from './wall.ts'
import { crossed, isPlainWiring, streamsOf } from './pipe/wiring.ts'
import { inWorkingFolder } from './working-folder.ts'

/** Folders of the system, none of a user. */
const SYSTEM_PATH: readonly string[] = ['/usr/local/bin', '/usr/bin', '/bin']

export interface ShellOptions {
  readonly workspace: string
  /** Every tool of the compartment: what any of them may write is no place for a command. */
  readonly tools: readonly Pick<CompartmentTool, 'grant'>[]
  /** Absolute folders where commands are looked for, and what they find in PATH. */
  readonly path?: readonly string[]
  /** Commands of one compartment at once, those that were cancelled and have not ended yet included. → TooManyCalls */
  readonly concurrentRuns?: number
  /** Kept of each of the two streams; the head, in bytes. */
  readonly outputBytes?: number
  /** Folders of the host's own. */
  readonly kept?: readonly string[] | undefined
  /** Between asking a command to end and making it, in ms. */
  readonly graceMs?: number
  /** How long output may pause once a command has ended while something it started still holds its pipes, in ms. */
  readonly drainMs?: number
  /** The shortest time between two updates with output, in ms. */
  readonly updateMs?: number
  /** Put in the place of their handles for a command, and taken out of its output. */
  readonly secrets?: SecretsCapability | undefined
  /** Absent: a tool that may run every command finds no more than any other. */
  readonly operator?: OperatorSurroundings | undefined
  readonly platform?: NodeJS.Platform
}

/** Started, until nothing of it is left. */
interface Begun {
  readonly result: Promise<object>
  readonly gone: Promise<void>
  end(reason: BulkheadError): void
}

/** A command on its way: being looked for, running, or being ended. */
interface Attempt {
  readonly callId: string
  readonly stop: AbortController
  /** Until its result is there, or nothing of it is left. */
  busy: boolean
  over: Promise<unknown>
}

type SpawnParts = Pick<RunParts, 'argv' | 'input' | 'streams'> & {
  /** Nobody hears of its output while it runs. */
  readonly isQuiet?: boolean
}

/** Commands of the grant, by name and argument vector, without a shell. */
export function shellCapability(options: ShellOptions): CapabilityUnit {
  const { workspace, tools, secrets, operator, kept = [], path = SYSTEM_PATH, platform = process.platform } = options
  const { concurrentRuns = 8, outputBytes = 200 * 1024, graceMs = 300, drainMs = 100, updateMs = 100 } = options
  // Without process groups and sessions a command could not be ended with what it started, so it is not given.
  if (platform === 'win32') return { capabilities: {}, endCall: () => undefined, close: async () => undefined }

  const offLimits = new OffLimits([workspace, ...tools.flatMap(({ grant }) => grant.fs.write)])
  const clean = cleanSurroundings(path, outputBytes, offLimits)
  const operators = operator === undefined ? clean : operatorSurroundings(operator, offLimits)
  const surroundingsOf = ({ tool }: OpenCall): Surroundings => runsAnyCommand(tool) ? operators : clean
  const system = new Executables(SYSTEM_PATH, offLimits)
  const launcher = new Launcher(system)
  const wall = new Wall({ workspace, executables: system, home: operator?.env.HOME })
  const leftovers = new Leftovers()
  const compartment = randomUUID()
  const attempts = new Set<Attempt>()
  let masked: readonly number[] | undefined
  let started = 0
  let closed = false

  const spawnIn = (call: OpenCall, cwd: string, { isQuiet = false, ...parts }: SpawnParts): Run => {
    const run = ++started
    const marker = `${compartment}.${run}`
    const update = (stream: StreamName, text: string): void => call.onUpdate?.({ type: 'shell.output', run, stream, text })
    const live = isQuiet || !call.onUpdate ? undefined : new LiveOutput(update, updateMs)
    try {
      masked = (masked ?? inheritableDescriptors()).filter(isInheritable)
    } catch (error) {
      throw startFault(error)
    }
    return new Run({
      ...parts, cwd, marker, live, leftovers, graceMs, drainMs, masked,
      outputBytes: surroundingsOf(call).outputBytes,
      env: surroundingsOf(call).environment(marker),
      redaction: secrets?.of(call.callId).redaction,
    })
  }

  const start = async (call: OpenCall, request: ShellRequest, stop: AbortSignal): Promise<Run> => {
    const [executable, launch] = await Promise.all([surroundingsOf(call).executables.find(request.cmd), launcher.prepare()])
    return inWorkingFolder(workspace, call, request.cwd, (cwd) => {
      stop.throwIfAborted()
      proveUnchanged(executable)
      return spawnIn(call, cwd, { argv: launch([executable.path, ...request.args]), input: request.input })
    })
  }

  const startPipe = async (call: OpenCall, request: PipeRequest, stop: AbortSignal): Promise<Pipeline> => {
    const [launch, shell, mkfifo, prefix, ...programs] = await Promise.all([
      launcher.prepare(), system.find('sh'), system.find('mkfifo'), request.wall === undefined ? [] : wall.prefix(request.wall),
      ...request.stages.map(({ cmd }) => surroundingsOf(call).executables.find(cmd)),
    ])
    const files = new StreamFiles(workspace, call, request.cwd, kept)
    const fifos = await Fifos.open(request.stages.length - 1, mkfifo.path)
    try {
      await files.openAll(request)
      return await inWorkingFolder(workspace, call, request.cwd, (cwd) => {
        stop.throwIfAborted()
        for (const program of [shell, ...programs]) proveUnchanged(program)
        const startStage: StartStage = (index) => {
          const stage = request.stages[index]!
          const argv = [programs[index]!.path, ...stage.args]
          const wired = isPlainWiring(stage) ? argv : crossed(shell.path, stage, argv)
          const ends = { read: fifos.readEnd(index - 1), write: fifos.writeEnd(index) }
          const input = typeof stage.input === 'string' ? stage.input : undefined
          const streams = streamsOf(stage, files, ends)
          return spawnIn(call, cwd, { argv: launch([...prefix, ...wired]), input, streams, isQuiet: request.quiet })
        }
        return new Pipeline(request.stages.length, startStage, request.timeoutMs)
      })
    } finally {
      await Promise.all([files.close(), fifos.close()])
    }
  }

  const finish = async (call: OpenCall, attempt: Attempt, begin: (stop: AbortSignal) => Promise<Begun>): Promise<Json> => {
    const { stop } = attempt
    const abort = (): void => stop.abort(BulkheadError.from(call.signal.reason, 'ToolCancelled'))
    call.signal.addEventListener('abort', abort, { once: true })
    const starting = begin(stop.signal).then((begun) => {
      const end = (): void => begun.end(BulkheadError.from(stop.signal.reason, 'ToolCancelled'))
      stop.signal.addEventListener('abort', end, { once: true })
      if (stop.signal.aborted) end()
      return begun
    })
    attempt.over = starting.then((run) => run.gone, () => undefined).finally(() => attempts.delete(attempt))
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

  const endAll = (which: (attempt: Attempt) => boolean, reason: BulkheadError): void => {
    for (const attempt of attempts) if (which(attempt)) attempt.stop.abort(reason)
  }

  const admit = (callId: string): Attempt => {
    if (closed) throw closedError()
    if ([...attempts].filter(({ busy }) => busy).length >= concurrentRuns) {
      throw new BulkheadError('TooManyCalls', `The extension runs ${concurrentRuns} commands already. Wait for some of them.`)
    }
    const attempt: Attempt = { callId, stop: new AbortController(), busy: true, over: Promise.resolve() }
    attempts.add(attempt)
    return attempt
  }

  return {
    capabilities: {
      async 'shell.run'(call, args) {
        const asked = readRequest(args)
        judgeRequest(call.tool, asked)
        const request = secrets === undefined ? asked : withSecrets(asked, secrets.of(call.callId))
        return finish(call, admit(call.callId), (stop) => start(call, request, stop))
      },
      async 'shell.pipe'(call, args) {
        const asked = readPipeRequest(args)
        judgePipe(call.tool, asked)
        const request = secrets === undefined ? asked : withStageSecrets(asked, secrets.of(call.callId))
        return finish(call, admit(call.callId), (stop) => startPipe(call, request, stop))
      },
    },
    endCall(callId) {
      if (attempts.size > 0) endAll((attempt) => attempt.callId === callId, callOverError())
    },
    async close() {
      closed = true
      endAll(() => true, closedError())
      await Promise.all([...attempts].map(({ over }) => over))
    },
  }
}

const callOverError = (): BulkheadError =>
  new BulkheadError('ToolCancelled', 'The command was ended because its call is over. Wait for it in the call.')
const closedError = (): BulkheadError =>
  new BulkheadError('CompartmentKilled', 'The compartment is closed, and its commands with it. Call again.')
