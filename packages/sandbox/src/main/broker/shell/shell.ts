import { randomUUID } from 'node:crypto'
import type { CompartmentTool, Json } from '@bulkhead/contract'
import { BulkheadError } from '@bulkhead/contract'
import type { Capabilities, OpenCall } from '../capability.ts'
import type { SecretsCapability } from '../secrets/secrets.ts'
import { cleanEnvironment } from './environment.ts'
import { Executables, proveUnchanged } from './executable.ts'
import { inheritableDescriptors, isInheritable } from './inheritable-descriptors.ts'
import type { Argv, Rlimits } from './launcher.ts'
import { Launcher } from './launcher.ts'
import { Leftovers } from './leftovers.ts'
import { LiveOutput } from './live-output.ts'
import { OffLimits } from './off-limits.ts'
import type { ShellRequest } from './request.ts'
import { judgeRequest, readRequest, withSecrets } from './request.ts'
import { Run } from './run.ts'
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
  /** Between asking a command to end and making it, in ms. */
  readonly graceMs?: number
  /** How long output may pause once a command has ended while something it started still holds its pipes, in ms. */
  readonly drainMs?: number
  /** The shortest time between two updates with output, in ms. */
  readonly updateMs?: number
  /** Limits that are asked for and cannot be set are an error. → CapabilityUnavailable */
  readonly rlimits?: Rlimits
  /** Puts a sandbox of the operating system around an argument vector. */
  readonly wrap?: (argv: Argv) => Argv
  /** Put in the place of their handles for a command, and taken out of its output. */
  readonly secrets?: SecretsCapability | undefined
  readonly platform?: NodeJS.Platform
}

export interface ShellCapability {
  readonly capabilities: Capabilities
  /** Ends what a call has running; to be called when the call is over, however it ended. */
  endCall(callId: string): void
  /** Idempotent. Resolves when no process of any run is left, as far as they can be found. Never rejects. */
  close(): Promise<void>
}

/** A command on its way: being looked for, running, or being ended. */
interface Attempt {
  readonly callId: string
  readonly stop: AbortController
  /** Until its result is there, or nothing of it is left. */
  busy: boolean
  over: Promise<unknown>
}

/** Commands of the grant, by name and argument vector, without a shell. */
export function shellCapability(options: ShellOptions): ShellCapability {
  const { workspace, tools, rlimits, wrap, secrets, path = SYSTEM_PATH, platform = process.platform } = options
  const { concurrentRuns = 8, outputBytes = 200 * 1024, graceMs = 300, drainMs = 100, updateMs = 100 } = options
  // Without process groups and sessions a command could not be ended with what it started, so it is not given.
  if (platform === 'win32') return { capabilities: {}, endCall: () => undefined, close: async () => undefined }

  const offLimits = new OffLimits([workspace, ...tools.flatMap(({ grant }) => grant.fs.write)])
  const executables = new Executables(path, offLimits)
  const launcher = new Launcher({ executables: new Executables(SYSTEM_PATH, offLimits), rlimits, wrap })
  const leftovers = new Leftovers()
  const compartment = randomUUID()
  const attempts = new Set<Attempt>()
  let masked: readonly number[] | undefined
  let started = 0
  let closed = false

  const start = async (call: OpenCall, request: ShellRequest, stop: AbortSignal): Promise<Run> => {
    const [executable, launch] = await Promise.all([executables.find(request.cmd), launcher.prepare()])
    masked = (masked ?? inheritableDescriptors()).filter(isInheritable)
    const mask = masked
    return inWorkingFolder(workspace, call, request.cwd, (cwd) => {
      stop.throwIfAborted()
      const run = ++started
      const marker = `${compartment}.${run}`
      const { onUpdate } = call
      const live = onUpdate && new LiveOutput((stream, text) => onUpdate({ type: 'shell.output', run, stream, text }), updateMs)
      proveUnchanged(executable)
      const begun = new Run({
        argv: launch([executable.path, ...request.args]),
        cwd, marker, live, leftovers, outputBytes, graceMs, drainMs,
        env: cleanEnvironment(path, marker),
        input: request.input,
        masked: mask,
        redaction: secrets?.of(call.callId).redaction,
      })
      stop.addEventListener('abort', () => begun.end(BulkheadError.from(stop.reason, 'ToolCancelled')), { once: true })
      return begun
    })
  }

  const finish = async (call: OpenCall, request: ShellRequest, attempt: Attempt): Promise<Json> => {
    const abort = (): void => attempt.stop.abort(BulkheadError.from(call.signal.reason, 'ToolCancelled'))
    call.signal.addEventListener('abort', abort, { once: true })
    const starting = start(call, request, attempt.stop.signal)
    attempt.over = starting.then((run) => run.gone, () => undefined).finally(() => attempts.delete(attempt))
    try {
      if (call.signal.aborted) abort()
      const { result } = await starting
      const settled = await result
      attempt.busy = false
      return { ...settled }
    } finally {
      call.signal.removeEventListener('abort', abort)
    }
  }

  const endAll = (which: (attempt: Attempt) => boolean, reason: BulkheadError): void => {
    for (const attempt of attempts) if (which(attempt)) attempt.stop.abort(reason)
  }

  return {
    capabilities: {
      async 'shell.run'(call, args) {
        const asked = readRequest(args)
        judgeRequest(call.tool, asked)
        const request = secrets === undefined ? asked : withSecrets(asked, secrets.of(call.callId))
        if (closed) throw closedError()
        if ([...attempts].filter(({ busy }) => busy).length >= concurrentRuns) {
          throw new BulkheadError('TooManyCalls', `The extension runs ${concurrentRuns} commands already. Wait for some of them.`)
        }
        const attempt: Attempt = { callId: call.callId, stop: new AbortController(), busy: true, over: Promise.resolve() }
        attempts.add(attempt)
        return finish(call, request, attempt)
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
