import { DEFAULT_LIMITS, type ChangeRecorder, type DryRun, type WholeOutput, type WorkspaceClient } from '@bulkhead/contract'
import type { ClientOf } from '../fs/client-files.ts'
import type { CapabilityUnit, OpenCall } from '../model/capability.ts'
import { runsAnyCommand } from './command-environment.ts'
import { fitsTerminal } from './client-terminal.ts'
import {
  checkPipe, checkRequest, readPipeRequest, readRequest, withSecrets, withStageSecrets, type PipeRequest,
  type StageRequest,
} from './request.ts'
import { requireCommands } from './ruled-command.ts'
import { RunningCommands } from './running-commands.ts'
import { SpareLauncher } from '../walls/launcher.ts'
import { startRecorded } from './recorded-command.ts'
import type { StartedCommand, Walled } from './starter.ts'
import { startersOf, type StarterOptions } from './starters.ts'

export interface ShellOptions extends StarterOptions {
  /** Commands of one compartment at once, with cancelled ones that have not ended. Others wait. */
  readonly concurrentCommands?: number
  /** The code runs in the host's thread, so it chooses the walls of its commands. Others have the wall `work`. */
  readonly choosesWalls?: boolean
  /** Shared by all compartments of a sandbox, which closes it. */
  readonly spares?: SpareLauncher | undefined
  readonly platform?: NodeJS.Platform
  /** Commands are checked and not run: each puts out what this says, or succeeds without output. */
  readonly answeredBy?: NonNullable<DryRun['command']> | undefined
  /** The client of the session of a call, for commands that fit into its terminal. */
  readonly clientOf?: ClientOf | undefined
  readonly changes?: ChangeRecorder | undefined
  /** Of the home of the host. What commands may change is copied beside it. */
  readonly journal?: string | undefined
  /** What takes the whole output of a call, by the host's id. */
  readonly wholeOutput?: ((callId: string) => WholeOutput | undefined) | undefined
}

/** Runs the commands of the grant by name and argument vector, without a shell. */
export function shellCapability(options: ShellOptions): CapabilityUnit {
  const { workspace, secrets, reserved, readOnly, storeFiles, layerName } = options
  const { isBundled = false, choosesWalls = false, answeredBy, platform = process.platform } = options
  const { concurrentCommands = DEFAULT_LIMITS.concurrentCommands } = options
  // Without process groups a command cannot be ended together with what it started.
  if (platform === 'win32') return { capabilities: {}, endCall: () => undefined, close: async () => undefined }

  const spares = options.spares ?? new SpareLauncher()
  const starterOf = startersOf(options, spares)
  const running = new RunningCommands(concurrentCommands)
  /**
   * A terminal shows its output, and has the variables of its client. So it gets no secrets or keys, no commands of
   * tools with a restricted environment, none that only read (they run without approval), and none whose output is not
   * shown.
   */
  const terminalFor = (call: OpenCall, { stages, wall, quiet }: PipeRequest & Walled): WorkspaceClient['run'] => {
    if ((call.wall?.keys ?? []).length > 0) return undefined
    const isShown = stages.length === 1 && fitsTerminal(stages[0]!) && wall !== 'look' && !quiet
    if (!isShown || secrets !== undefined || !runsAnyCommand(call.tool)) return undefined
    const client = options.clientOf?.(call.hostCallId ?? call.callId)
    return client?.run?.bind(client)
  }
  /** What rules deny refuses a command also if it is not run. */
  const requireWall = async ({ tool, uses }: OpenCall, request: Walled): Promise<void> => {
    if (uses?.deniedPaths !== undefined) await starterOf(tool).requireWall(tool, request, uses.deniedPaths)
  }
  /** Without a choice, code of the host has no wall. Another tool reaches what it may reach itself. */
  const walled = ({ tool }: OpenCall, { wall, hosts }: Pick<PipeRequest, 'wall' | 'hosts'>): Walled => choosesWalls
    ? { wall: wall ?? 'open', hosts } : { wall: wall === 'look' ? wall : 'work', hosts: tool.grant.net.hosts }
  const outputFor = ({ callId, hostCallId = callId }: OpenCall, { save }: PipeRequest): WholeOutput | undefined => {
    const output = save !== false && isBundled ? options.wholeOutput?.(hostCallId) : undefined
    if (save !== 'stderr' || output === undefined) return output
    return {
      add: (source, bytes) => source === save ? output.add(source, bytes) : undefined, leaveOut: () => output.leaveOut(),
    }
  }
  const recorded = (
    call: OpenCall, stages: readonly CommandLine[], stop: AbortSignal, start: () => Promise<StartedCommand>,
  ): Promise<StartedCommand> => {
    const { changes, journal } = options
    if (changes === undefined) return start()
    const roots = [workspace, ...call.tool.grant.fs.commandRoots ?? []]
    const folders = { reserved, readOnly, storeFiles, layerName }
    return startRecorded(call, lineOf(stages), { changes, roots, folders, journal }, stop, start)
  }
  return {
    capabilities: {
      async 'shell.run'(call, args) {
        const asked = readRequest(args)
        checkRequest(call.tool, asked)
        await requireCommands(call, [textOf(asked)], workspace, walled(call, NO_CHOICE))
        if (answeredBy) {
          await requireWall(call, walled(call, NO_CHOICE))
          return { ...NO_OUTPUT, ...SUCCESS, ...answeredBy(asked.cmd, asked.args) }
        }
        call.effects?.add('sentBytes', Buffer.byteLength(asked.input ?? ''))
        const request = secrets === undefined ? asked : withSecrets(asked, secrets.of(call.callId))
        return running.run(call, (stop) => {
          return recorded(call, [asked], stop, async () => {
            await begin(call, [asked])
            return starterOf(call.tool).start(call, { ...request, ...walled(call, NO_CHOICE) }, stop)
          })
        })
      },
      async 'shell.pipe'(call, args) {
        const read = readPipeRequest(args)
        // What the host chose was shown to the person who allowed it.
        const chosen = call.wall === undefined ? walled(call, read)
          : { wall: call.wall.wall, hosts: call.wall.hosts ?? [] }
        const asked = { ...read, ...chosen }
        checkPipe(call.tool, asked, isBundled)
        await requireCommands(call, asked.stages.flatMap((stage) => commandsOf(stage, isBundled)).map(textOf), workspace, asked)
        if (answeredBy) {
          await requireWall(call, asked)
          const answers = asked.stages.map(({ cmd, args: given }) => answeredBy(cmd, given))
          const stderr = answers.map((answer) => answer?.stderr ?? '').join('')
          const exits = answers.map((answer) => ({ ...SUCCESS, ...(answer && { exitCode: answer.exitCode }) }))
          return { ...NO_OUTPUT, exits, stdout: answers.at(-1)?.stdout ?? '', stderr, timedOut: false }
        }
        const { input } = asked.stages[0]!
        if (typeof input === 'string') call.effects?.add('sentBytes', Buffer.byteLength(input))
        const whole = secrets === undefined ? asked : withStageSecrets(asked, secrets.of(call.callId))
        const run = terminalFor(call, asked)
        const missed = {
          ...NO_OUTPUT, exits: asked.stages.map(() => NOT_STARTED), timedOut: true,
          stderr: `The command did not start before its timeout: ${concurrentCommands} others were running.\n`,
        }
        return running.run(call, (stop, timeoutMs) => {
          const request = { ...whole, timeoutMs, whole: outputFor(call, asked) }
          const starter = starterOf(call.tool)
          const isLook = !mayWrite(asked)
          const start = async (): Promise<StartedCommand> => {
            if (!isLook || !await starter.canOnlyLook(asked)) await begin(call, asked.stages)
            return run ? starter.startInTerminal(call, request, run, stop) : starter.startPipe(call, request, stop)
          }
          return isLook ? start() : recorded(call, asked.stages, stop, start)
        }, { ms: shorter(asked.timeoutMs, call.commandMs), missed })
      },
    },
    endCall: (callId) => running.endCall(callId),
    async close() {
      await running.close()
      if (options.spares === undefined) spares.close()
    },
  }
}

const shorter = (one: number | undefined, other: number | undefined): number | undefined =>
  one === undefined || other === undefined ? one ?? other : Math.min(one, other)

const NO_CHOICE = { wall: undefined, hosts: [] } as const

type CommandLine = Pick<StageRequest, 'cmd' | 'args'> & Partial<Pick<StageRequest, 'as'>>

/** Kept of a command line that may have changed something. */
const RECORDED_CHARS = 1_000

/** The command as it was asked for, so that no secret is recorded. */
const lineOf = (stages: readonly CommandLine[]): string =>
  stages.flatMap((stage) => commandsOf(stage, true)).map(textOf).join(' | ').slice(0, RECORDED_CHARS)

/** `isBundled`: what a bundled tool was asked to run counts. */
const commandsOf = ({ cmd, args, as }: CommandLine, isBundled: boolean): readonly Pick<StageRequest, 'cmd' | 'args'>[] =>
  isBundled && as !== undefined ? as : [{ cmd, args }]

const textOf = ({ cmd, args }: Pick<StageRequest, 'cmd' | 'args'>): string => [cmd, ...args].join(' ')

const begin = ({ effects }: OpenCall, stages: readonly CommandLine[]) => effects?.begin(`runs ${lineOf(stages)}`)

const mayWrite = ({ stages, wall }: PipeRequest): boolean =>
  wall !== 'look' || stages.some(({ stdout, stderr }) => typeof stdout === 'object' || typeof stderr === 'object')

const SUCCESS = { exitCode: 0, signal: null }
const NOT_STARTED = { exitCode: null, signal: null }
const NO_OUTPUT = { stdout: '', stderr: '', truncated: false }
