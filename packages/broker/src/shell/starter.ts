import { randomUUID } from 'node:crypto'
import { basename } from 'node:path'
import { newProcessMark } from '@bulkhead/kit/processes'
import type { BulkheadError, CommandWalls, CompartmentTool, DeniedPaths, KeyGrant, PipeResult } from '@bulkhead/contract'
import type { OpenCall } from '../model/capability.ts'
import type { HostFolders } from '../fs/file-scope.ts'
import type { Redaction } from '../secrets/redaction.ts'
import type { SecretsCapability } from '../secrets/secrets.ts'
import { Executables, requireUnchanged, UntrustedFolders } from '../process/executable.ts'
import { inheritableDescriptors, isInheritable, startError } from '../process/spawn.ts'
import { Launcher, unlessBusy, type Argv, type Launch, type CommandEnvironment } from './command-environment.ts'
import { TerminalRun, type TerminalRunParts } from './client-terminal.ts'
import { LeftoverProcesses } from '../process/run-processes.ts'
import { LiveOutput, type StreamName } from './output.ts'
import { Fifos, StreamFiles } from './streams.ts'
import type { PipeRequest, ShellRequest } from './request.ts'
import { throughShell, isPlainOutput, Pipeline, streamsOf } from './pipeline.ts'
import { Run } from './run.ts'
import { wholePipe } from './whole-pipe.ts'
import { descriptorsOf, type RunParts, type RunStreams } from './run-start.ts'
import { CommandSandbox, type CommandSandboxOptions, type WallRequest } from './command-sandbox.ts'
import { inWorkingFolder, workingFolder } from './working-folder.ts'
import type { SpareLauncher } from '../walls/launcher.ts'
import { NO_SANDBOX, type CommandWall, type SandboxPrefix } from './wall-form.ts'

/** Folders that only the administrator writes. */
export const SYSTEM_PATH: readonly string[] = ['/usr/local/bin', '/usr/bin', '/bin']

type SandboxNeeds = Pick<CommandSandboxOptions, 'missingSandbox' | 'requiresSandbox'>

interface StarterParts extends Pick<RunParts, 'graceMs' | 'drainMs'>, SandboxNeeds {
  readonly workspace: string
  /** Folders beside the workspace in which commands may start and write. */
  readonly roots: readonly string[]
  readonly untrusted: UntrustedFolders
  /** The home folder of the operator. */
  readonly home: string | undefined
  readonly folders: HostFolders
  readonly projectLayer: string | undefined
  readonly updateMs: number
  readonly secrets: SecretsCapability | undefined
  readonly environmentOf: (tool: GrantedTool) => CommandEnvironment
  readonly keysOf: (call: OpenCall) => readonly KeyGrant[]
  readonly spares: SpareLauncher
}

type GrantedTool = Pick<CompartmentTool, 'grant'>

/** A request with the wall that it runs behind. */
export interface Walled {
  readonly wall: CommandWall
  readonly hosts: readonly string[] | 'all'
}

type SpawnParts = Pick<RunParts, 'input' | 'streams' | 'redaction' | 'whole'> & {
  readonly command: Argv
  readonly launch: Launch
  /** No updates while it runs. */
  readonly isQuiet?: boolean
  /** Replaces PATH of the environment. */
  readonly path?: string | undefined
  readonly sandbox: SandboxPrefix
}

type WallRequestOf = Walled & { readonly isolated?: boolean }

/** A command or pipe, from its start until no process of it is left. */
export interface StartedCommand {
  readonly result: Promise<object>
  readonly gone: Promise<void>
  end(reason: BulkheadError): void
}

interface Started<Result extends object> extends StartedCommand {
  readonly result: Promise<Result>
}

/** Starts checked commands: pinned programs, in a verified folder, in a sandbox where one works. */
export class Starter {
  readonly #parts: StarterParts
  readonly #system: Executables
  readonly #launcher: Launcher
  readonly #sandbox: CommandSandbox
  readonly #leftovers = new LeftoverProcesses()
  readonly #compartment = randomUUID()
  #masked: readonly number[] | undefined
  #started = 0

  constructor(parts: StarterParts) {
    const { workspace, roots, home, untrusted, projectLayer, folders, missingSandbox, requiresSandbox } = parts
    this.#parts = parts
    this.#system = new Executables(SYSTEM_PATH, untrusted)
    this.#launcher = new Launcher(this.#system)
    this.#sandbox = new CommandSandbox({
      workspace, roots, executables: this.#system, home, projectLayer, folders, missingSandbox, requiresSandbox,
    })
  }

  async start(call: OpenCall, request: ShellRequest & Walled, stop: AbortSignal): Promise<StartedCommand> {
    const { workspace, environmentOf } = this.#parts
    const redaction = this.#redaction(call, [request.cmd])
    return this.#behind(call, request, async (sandbox) => {
      const [executable, launch] = await Promise.all([
        environmentOf(call.tool).executables.find(request.cmd), this.#launcher.prepare(),
      ])
      return inWorkingFolder(workspace, call, request.cwd, (cwd) => {
        stop.throwIfAborted()
        requireUnchanged(executable)
        const command = [executable.path, ...request.args]
        return this.#spawn(call, cwd, { command, launch, sandbox, input: request.input, redaction })
      })
    })
  }

  startPipe(call: OpenCall, request: PipeRequest & Walled, stop: AbortSignal): Promise<StartedCommand> {
    return this.#behind(call, request, (sandbox) => this.#startStages(call, request, stop, sandbox))
  }

  /** Starts a command behind its wall, which stands until no process of the command is left. */
  async #behind<Result extends { readonly stderr: string }>(
    call: OpenCall, request: WallRequestOf, start: (sandbox: SandboxPrefix) => Promise<Started<Result>>,
  ): Promise<StartedCommand> {
    const sandbox = await this.#sandboxOf(call, request)
    try {
      const started = await start(sandbox)
      const { wall } = request
      const stood = wall === 'open' || sandbox === NO_SANDBOX ? {} : { wall }
      return {
        result: started.result.then((result) =>
          ({ ...result, ...stood, ...hiddenBy(sandbox, result), stderr: result.stderr + refusals(sandbox) })),
        gone: started.gone.then(() => sandbox.release()),
        end: (reason) => started.end(reason),
      }
    } catch (error) {
      await sandbox.release()
      throw error
    }
  }

  /** The same program, sandbox and folder, started by the client. Contract: one stage that fits a terminal. */
  async startInTerminal(
    call: OpenCall, request: PipeRequest & Walled, run: TerminalRunParts['run'], stop: AbortSignal,
  ): Promise<StartedCommand> {
    const { workspace, environmentOf } = this.#parts
    const { cmd, args } = request.stages[0]!
    const { executables, outputBytes } = environmentOf(call.tool)
    const [executable, sandbox] = await Promise.all([executables.find(cmd), this.#sandboxOf(call, request)])
    if (sandbox.launch !== undefined) {
      // A terminal cannot hand its order to the launcher.
      await sandbox.release()
      return this.startPipe(call, request, stop)
    }
    try {
      const cwd = await workingFolder(workspace, call, request.cwd)
      stop.throwIfAborted()
      requireUnchanged(executable)
      const [program = executable.path, ...rest] = [...inside(sandbox), executable.path, ...args]
      const command = { program, args: rest, cwd: cwd.path, outputBytes }
      const callId = call.hostCallId ?? call.callId
      const { timeoutMs, whole } = request
      return new TerminalRun({ run, command, callId, timeoutMs, whole, release: sandbox.release })
    } catch (error) {
      await sandbox.release()
      throw error
    }
  }

  async #sandboxOf(call: OpenCall, request: WallRequestOf): Promise<SandboxPrefix> {
    const hostCeilings = (call.tool.grant.ceilings ?? []).map(({ net }) => net.hosts)
    const keys = { keys: this.#parts.keysOf(call), onKeyUse: call.onKeyUse?.bind(call) }
    const { uses } = call
    return this.#sandbox.prepare({
      ...await this.#requestOf(call.tool, request, uses?.deniedPaths), hostCeilings, keys,
      deniedHost: uses && ((host) => uses.judge('net.fetch', host)?.rule),
    })
  }

  /** Whether the wall stands behind which commands change nothing. */
  async canOnlyLook({ wall, isolated }: WallRequestOf): Promise<boolean> {
    if (wall !== 'look') return false
    const chosen = await this.#sandbox.choose({ wall, ...(isolated !== undefined && { isolated }) })
    return chosen !== undefined && (chosen.hasMounts || chosen.launched !== undefined)
  }

  /** Rejects as the start of a command behind this wall does, because of what rules deny. Starts nothing. */
  async requireWall(tool: GrantedTool, walled: Walled, denied: DeniedPaths | undefined): Promise<void> {
    await this.#sandbox.choose(await this.#requestOf(tool, walled, denied))
  }

  async #requestOf(
    tool: GrantedTool, { wall, hosts, isolated = false }: WallRequestOf, denied: DeniedPaths | undefined,
  ): Promise<WallRequest> {
    const visible = wall === 'open' || isolated ? [] : await this.#parts.environmentOf(tool).visible()
    return { wall, isolated, visible, hosts, denied }
  }

  async #startStages(call: OpenCall, request: PipeRequest & Walled, stop: AbortSignal, sandbox: SandboxPrefix): Promise<Pipeline> {
    const { workspace, folders, environmentOf } = this.#parts
    const path = request.wall === 'look' ? await environmentOf(call.tool).cleanPath() : undefined
    const { stages } = request
    const isWhole = stages.length > 1 && sandbox !== NO_SANDBOX && request.hasSecrets !== true
    const [launch, bash, shell, mkfifo, ...programs] = await Promise.all([
      this.#launcher.prepare(), isWhole ? this.#system.find('bash').catch(unlessBusy) : undefined,
      this.#system.find('sh'), this.#system.find('mkfifo'),
      ...stages.map(({ cmd }) => environmentOf(call.tool).executables.find(cmd)),
    ])
    const redaction = this.#redaction(call, stages.map(({ cmd }) => cmd))
    const files = new StreamFiles(workspace, call, request.cwd, folders)
    const fifos = await Fifos.open(bash === undefined ? stages.length - 1 : 0, mkfifo.path)
    const paths = programs.map((program) => program.path)
    const partsOf = (index: number): Pick<SpawnParts, 'command' | 'streams'> => {
      if (bash !== undefined) return wholePipe(bash.path, stages, paths, files)
      const stage = stages[index]!
      const argv = [paths[index]!, ...stage.args]
      const ends = { read: fifos.readEnd(index - 1), write: fifos.writeEnd(index) }
      const command = isPlainOutput(stage) ? argv : throughShell(shell.path, stage, argv)
      return { command, streams: streamsOf(stage, files, ends) }
    }
    try {
      await files.openAll(request)
      return await inWorkingFolder(workspace, call, request.cwd, (cwd) => {
        stop.throwIfAborted()
        for (const program of [bash ?? shell, ...programs]) requireUnchanged(program)
        return new Pipeline(bash === undefined ? stages.length : 1, (index) => {
          const { input } = stages[index]!
          const given = { input: typeof input === 'string' ? input : undefined, ...partsOf(index) }
          const { quiet: isQuiet, whole } = request
          return this.#spawn(call, cwd, { ...given, launch, sandbox, redaction, path, isQuiet, whole })
        }, request)
      })
    } finally {
      await Promise.all([files.close(), fifos.close()])
    }
  }

  #spawn(call: OpenCall, cwd: string, { command, launch, sandbox, path, isQuiet = false, ...parts }: SpawnParts): Run {
    const { environmentOf, graceMs, drainMs, updateMs, spares } = this.#parts
    const { outputBytes, variables } = environmentOf(call.tool)
    const { network } = sandbox
    const run = ++this.#started
    const marker = `${this.#compartment}.${run}`
    const mark = newProcessMark()
    const update = (stream: StreamName, text: string): void =>
      call.onUpdate?.({ type: 'shell.output', run, stream, text })
    const live = isQuiet || !call.onUpdate ? undefined : new LiveOutput(update, updateMs)
    return new Run({
      ...parts, cwd, marker, mark, live, graceMs, drainMs, outputBytes,
      argv: sandbox.launch === undefined ? launch([...inside(sandbox, parts.streams), ...command], mark) : command,
      wall: {
        spares, launch: sandbox.launch, filter: sandbox.filter,
        ...(network && { network: (descriptors, inner) => launch(network(descriptors, inner), mark) }),
      },
      leftovers: this.#leftovers,
      masked: this.#descriptorsToMask(),
      env: {
        ...variables(marker, call.isApproved === true), ...(path !== undefined && { PATH: path }), ...sandbox.variables,
      },
    })
  }

  #redaction({ callId }: OpenCall, commands: readonly string[]): Redaction | undefined {
    return this.#parts.secrets?.of(callId).vault.redactionOfCommands(commands)
  }

  #descriptorsToMask(): readonly number[] {
    try {
      this.#masked = (this.#masked ?? inheritableDescriptors()).filter(isInheritable)
      return this.#masked
    } catch (error) {
      throw startError(error)
    }
  }
}

/** What stands before a command with these streams. */
const inside = ({ argv, relay }: SandboxPrefix, streams?: RunStreams): Argv =>
  [...argv, ...relay?.(descriptorsOf(streams)) ?? []]

/** Which rules hide files that the errors of a command name. */
function hiddenBy({ denied = [] }: SandboxPrefix, { stderr }: { readonly stderr: string }): Pick<PipeResult, 'hiddenBy'> {
  if (denied.length === 0 || stderr === '') return {}
  const words = new Set(stderr.split(/[\s/:,;'"`‘’()[\]]+/))
  const rules = denied.filter(({ path, isHidden }) => isHidden && words.has(basename(path))).map(({ rule }) => rule)
  return rules.length === 0 ? {} : { hiddenBy: [...new Set(rules)] }
}

/** For the caller of the command. */
const refusals = ({ refused = new Set() }: SandboxPrefix): string => [...refused].map((line) => `${line}\n`).join('')

/** What stands around commands here, by the trials that precede the first command of each kind. */
export async function commandWalls(workspace: string, home: string | undefined): Promise<CommandWalls> {
  const executables = new Executables(SYSTEM_PATH, new UntrustedFolders([workspace], [workspace]))
  return new CommandSandbox({ workspace, executables, home }).walls()
}
