import { randomUUID } from 'node:crypto'
import type { OpenCall } from '../model/capability.ts'
import type { HostFolders } from '../fs/file-scope.ts'
import type { Redaction } from '../secrets/redaction.ts'
import type { SecretsCapability } from '../secrets/secrets.ts'
import type { Begun } from './running-commands.ts'
import { Executables, proveUnchanged } from '../process/executable.ts'
import { inheritableDescriptors, isInheritable } from '../process/descriptors.ts'
import { newProcessMark } from '@bulkhead/kit/process-mark'
import { Launcher, type Argv, type Launch } from './launcher.ts'
import { Leftovers } from '../process/run-processes.ts'
import { LiveOutput, type StreamName } from './live-output.ts'
import type { OffLimits } from '../process/untrusted-folders.ts'
import { Fifos } from './pipe/fifos.ts'
import type { PipeRequest } from './pipe/pipe-request.ts'
import { Pipeline } from './pipe/pipeline.ts'
import { StreamFiles } from './pipe/stream-files.ts'
import { crossed, isPlainWiring, streamsOf } from './pipe/wiring.ts'
import type { ShellRequest } from './request.ts'
import { Run, type RunParts } from './run.ts'
import { startFault } from '../process/start-error.ts'
import type { Surroundings } from './command-environment.ts'
import { Wall, type WallOptions } from './command-sandbox.ts'
import { inWorkingFolder } from './working-folder.ts'

/** Folders of the system, none of a user. */
export const SYSTEM_PATH: readonly string[] = ['/usr/local/bin', '/usr/bin', '/bin']

interface StarterParts extends Pick<RunParts, 'graceMs' | 'drainMs'>, Pick<WallOptions, 'walls' | 'requiresSandbox'> {
  readonly workspace: string
  readonly offLimits: OffLimits
  /** Of whoever runs the host. */
  readonly home: string | undefined
  readonly folders: HostFolders
  readonly projectLayer: string | undefined
  readonly updateMs: number
  readonly secrets: SecretsCapability | undefined
  readonly surroundingsOf: (call: OpenCall) => Surroundings
}

type SpawnParts = Pick<RunParts, 'input' | 'streams' | 'redaction'> & {
  readonly command: Argv
  readonly launch: Launch
  /** Nobody hears of its output while it runs. */
  readonly isQuiet?: boolean
  /** What it finds in PATH, where that is not what its surroundings say. */
  readonly path?: string | undefined
}

/** Starts what was judged: the programs that were found, in the folder that was proven, held by what the system has for it. */
export class Starter {
  readonly #parts: StarterParts
  readonly #system: Executables
  readonly #launcher: Launcher
  readonly #wall: Wall
  readonly #leftovers = new Leftovers()
  readonly #compartment = randomUUID()
  #masked: readonly number[] | undefined
  #started = 0

  constructor(parts: StarterParts) {
    const { workspace, home, offLimits, projectLayer, walls, requiresSandbox } = parts
    this.#parts = parts
    this.#system = new Executables(SYSTEM_PATH, offLimits)
    this.#launcher = new Launcher(this.#system)
    this.#wall = new Wall({ workspace, executables: this.#system, home, projectLayer, walls, requiresSandbox })
  }

  async start(call: OpenCall, request: ShellRequest, stop: AbortSignal): Promise<Run> {
    const { workspace, surroundingsOf } = this.#parts
    const redaction = this.#redaction(call, [request.cmd])
    const [executable, launch] = await Promise.all([
      surroundingsOf(call).executables.find(request.cmd), this.#launcher.prepare(), this.#wall.stand(undefined),
    ])
    return inWorkingFolder(workspace, call, request.cwd, (cwd) => {
      stop.throwIfAborted()
      proveUnchanged(executable)
      return this.#spawn(call, cwd, { command: [executable.path, ...request.args], launch, input: request.input, redaction })
    })
  }

  async startPipe(call: OpenCall, request: PipeRequest, stop: AbortSignal): Promise<Begun> {
    const wall = await this.#wall.stand(request.wall)
    try {
      const pipeline = await this.#startStages(call, request, stop, wall.argv)
      return { result: pipeline.result, gone: pipeline.gone.then(() => wall.release()), end: (reason) => pipeline.end(reason) }
    } catch (error) {
      await wall.release()
      throw error
    }
  }

  async #startStages(call: OpenCall, request: PipeRequest, stop: AbortSignal, prefix: Argv): Promise<Pipeline> {
    const { workspace, folders, surroundingsOf } = this.#parts
    const path = request.wall === 'read' ? await surroundingsOf(call).cleanPath() : undefined
    const [launch, shell, mkfifo, ...programs] = await Promise.all([
      this.#launcher.prepare(), this.#system.find('sh'), this.#system.find('mkfifo'),
      ...request.stages.map(({ cmd }) => surroundingsOf(call).executables.find(cmd)),
    ])
    const redaction = this.#redaction(call, request.stages.map(({ cmd }) => cmd))
    const files = new StreamFiles(workspace, call, request.cwd, folders)
    const fifos = await Fifos.open(request.stages.length - 1, mkfifo.path)
    try {
      await files.openAll(request)
      return await inWorkingFolder(workspace, call, request.cwd, (cwd) => {
        stop.throwIfAborted()
        for (const program of [shell, ...programs]) proveUnchanged(program)
        return new Pipeline(request.stages.length, (index) => {
          const stage = request.stages[index]!
          const argv = [programs[index]!.path, ...stage.args]
          const wired = isPlainWiring(stage) ? argv : crossed(shell.path, stage, argv)
          const ends = { read: fifos.readEnd(index - 1), write: fifos.writeEnd(index) }
          const input = typeof stage.input === 'string' ? stage.input : undefined
          const streams = streamsOf(stage, files, ends)
          return this.#spawn(call, cwd, { command: [...prefix, ...wired], launch, input, streams, redaction, path, isQuiet: request.quiet })
        }, request.timeoutMs)
      })
    } finally {
      await Promise.all([files.close(), fifos.close()])
    }
  }

  #spawn(call: OpenCall, cwd: string, { command, launch, path, isQuiet = false, ...parts }: SpawnParts): Run {
    const { surroundingsOf, graceMs, drainMs, updateMs } = this.#parts
    const { outputBytes, environment } = surroundingsOf(call)
    const run = ++this.#started
    const marker = `${this.#compartment}.${run}`
    const mark = newProcessMark()
    const update = (stream: StreamName, text: string): void => call.onUpdate?.({ type: 'shell.output', run, stream, text })
    const live = isQuiet || !call.onUpdate ? undefined : new LiveOutput(update, updateMs)
    return new Run({
      ...parts, cwd, marker, mark, live, graceMs, drainMs, outputBytes,
      argv: launch(command, mark),
      leftovers: this.#leftovers,
      masked: this.#maskable(),
      env: path === undefined ? environment(marker) : { ...environment(marker), PATH: path },
    })
  }

  #redaction({ callId }: OpenCall, commands: readonly string[]): Redaction | undefined {
    return this.#parts.secrets?.of(callId).vault.redactionOfCommands(commands)
  }

  #maskable(): readonly number[] {
    try {
      this.#masked = (this.#masked ?? inheritableDescriptors()).filter(isInheritable)
      return this.#masked
    } catch (error) {
      throw startFault(error)
    }
  }
}
