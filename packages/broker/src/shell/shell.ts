import type { CompartmentTool } from '@bulkhead/contract'
import type { CapabilityUnit } from '../model/capability.ts'
import type { HostFolders } from '../fs/file-scope.ts'
import type { SecretsCapability } from '../secrets/secrets.ts'
import { RunningCommands } from './running-commands.ts'
import { UntrustedFolders } from '../process/executable.ts'
import { checkPipe, readPipeRequest, withStageSecrets } from './pipe/pipe-request.ts'
import { checkRequest, readRequest, withSecrets } from './request.ts'
import { Starter, SYSTEM_PATH } from './starter.ts'
import { restrictedEnvironment, operatorEnvironment, runsAnyCommand, type OperatorEnvironment } from './command-environment.ts'
import type { MissingSandboxReporter } from './command-sandbox.ts'

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
}

/** Runs the commands of the grant by name and argument vector, without a shell. */
export function shellCapability(options: ShellOptions): CapabilityUnit {
  const { workspace, tools, secrets, operator, reserved, readOnly, projectLayer } = options
  const { missingSandbox, requiresSandbox, isBundled = false } = options
  const { path = SYSTEM_PATH, platform = process.platform } = options
  const { concurrentRuns = 8, outputBytes = 200 * 1024, graceMs = 300, drainMs = 100, updateMs = 100 } = options
  // Without process groups a command cannot be ended together with what it started.
  if (platform === 'win32') return { capabilities: {}, endCall: () => undefined, close: async () => undefined }

  const untrusted = new UntrustedFolders(
    [workspace, ...tools.flatMap(({ grant }) => grant.fs.write)], [workspace, ...tools.flatMap(({ grant }) => grant.fs.roots ?? [])],
  )
  const restricted = restrictedEnvironment(path, outputBytes, untrusted)
  const operators = operator === undefined ? restricted : operatorEnvironment(operator, untrusted)
  const starter = new Starter({
    workspace, untrusted, projectLayer, secrets, missingSandbox, requiresSandbox, graceMs, drainMs, updateMs,
    folders: { reserved, readOnly },
    home: operator?.env.HOME,
    environmentOf: ({ tool }) => runsAnyCommand(tool) ? operators : restricted,
  })
  const running = new RunningCommands(concurrentRuns)
  return {
    capabilities: {
      async 'shell.run'(call, args) {
        const asked = readRequest(args)
        checkRequest(call.tool, asked)
        call.effects?.add('sentBytes', Buffer.byteLength(asked.input ?? ''))
        const request = secrets === undefined ? asked : withSecrets(asked, secrets.of(call.callId))
        return running.run(call, (stop) => starter.start(call, request, stop))
      },
      async 'shell.pipe'(call, args) {
        const asked = readPipeRequest(args)
        checkPipe(call.tool, asked, isBundled)
        const { input } = asked.stages[0]!
        if (typeof input === 'string') call.effects?.add('sentBytes', Buffer.byteLength(input))
        const request = secrets === undefined ? asked : withStageSecrets(asked, secrets.of(call.callId))
        return running.run(call, (stop) => starter.startPipe(call, request, stop))
      },
    },
    endCall: (callId) => running.endCall(callId),
    close: () => running.close(),
  }
}
