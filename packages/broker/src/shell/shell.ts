import type { CompartmentTool } from '@bulkhead/contract'
import type { CapabilityUnit } from '../model/capability.ts'
import type { HostFolders } from '../fs/file-scope.ts'
import type { SecretsCapability } from '../secrets/secrets.ts'
import { Attempts } from './running-commands.ts'
import { OffLimits } from '../process/untrusted-folders.ts'
import { judgePipe, readPipeRequest, withStageSecrets } from './pipe/pipe-request.ts'
import { judgeRequest, readRequest, withSecrets } from './request.ts'
import { Starter, SYSTEM_PATH } from './starter.ts'
import type { OperatorEnvironment } from './command-environment.ts'
import { cleanSurroundings, operatorEnvironment, runsAnyCommand } from './command-environment.ts'
import type { MissingSandboxReporter } from './command-sandbox.ts'

export interface ShellOptions extends HostFolders {
  readonly workspace: string
  /** Every tool of the compartment: what any of them may write is no place for a command. */
  readonly tools: readonly Pick<CompartmentTool, 'grant'>[]
  /** Absolute folders where commands are looked for, and what they find in PATH. */
  readonly path?: readonly string[]
  /** Commands of one compartment at once, those that were cancelled and have not ended yet included. → TooManyCalls */
  readonly concurrentRuns?: number
  /** Kept of each of the two streams; the head, in bytes. */
  readonly outputBytes?: number
  /** The folder of the project layer, which no command writes where a sandbox of the system stands around it. */
  readonly projectLayer?: string | undefined
  /** Between asking a command to end and making it, in ms. */
  readonly graceMs?: number
  /** How long output may pause once a command has ended while something it started still holds its pipes, in ms. */
  readonly drainMs?: number
  /** The shortest time between two updates with output, in ms. */
  readonly updateMs?: number
  /** Put in the place of their handles for a command, and taken out of its output. */
  readonly secrets?: SecretsCapability | undefined
  /** Absent: a tool that may run every command finds no more than any other. */
  readonly operator?: OperatorEnvironment | undefined
  /** Told when commands run without a wall. */
  readonly walls?: MissingSandboxReporter | undefined
  /** No command runs where no wall works. */
  readonly requiresSandbox?: boolean | undefined
  /** The code ships with the host and runs in its thread. */
  readonly isOurs?: boolean
  readonly platform?: NodeJS.Platform
}

/** Commands of the grant, by name and argument vector, without a shell. */
export function shellCapability(options: ShellOptions): CapabilityUnit {
  const { workspace, tools, secrets, operator, kept, neverWritten, projectLayer, walls, requiresSandbox, isOurs = false } = options
  const { path = SYSTEM_PATH, platform = process.platform } = options
  const { concurrentRuns = 8, outputBytes = 200 * 1024, graceMs = 300, drainMs = 100, updateMs = 100 } = options
  // Without process groups and sessions a command could not be ended with what it started, so it is not given.
  if (platform === 'win32') return { capabilities: {}, endCall: () => undefined, close: async () => undefined }

  const offLimits = new OffLimits(
    [workspace, ...tools.flatMap(({ grant }) => grant.fs.write)], [workspace, ...tools.flatMap(({ grant }) => grant.fs.roots ?? [])],
  )
  const clean = cleanSurroundings(path, outputBytes, offLimits)
  const operators = operator === undefined ? clean : operatorEnvironment(operator, offLimits)
  const starter = new Starter({
    workspace, offLimits, projectLayer, secrets, walls, requiresSandbox, graceMs, drainMs, updateMs,
    folders: { kept, neverWritten },
    home: operator?.env.HOME,
    surroundingsOf: ({ tool }) => runsAnyCommand(tool) ? operators : clean,
  })
  const attempts = new Attempts(concurrentRuns)
  return {
    capabilities: {
      async 'shell.run'(call, args) {
        const asked = readRequest(args)
        judgeRequest(call.tool, asked)
        call.effects?.add('sentBytes', Buffer.byteLength(asked.input ?? ''))
        const request = secrets === undefined ? asked : withSecrets(asked, secrets.of(call.callId))
        return attempts.run(call, (stop) => starter.start(call, request, stop))
      },
      async 'shell.pipe'(call, args) {
        const asked = readPipeRequest(args)
        judgePipe(call.tool, asked, isOurs)
        const { input } = asked.stages[0]!
        if (typeof input === 'string') call.effects?.add('sentBytes', Buffer.byteLength(input))
        const request = secrets === undefined ? asked : withStageSecrets(asked, secrets.of(call.callId))
        return attempts.run(call, (stop) => starter.startPipe(call, request, stop))
      },
    },
    endCall: (callId) => attempts.endCall(callId),
    close: () => attempts.close(),
  }
}
