import {
  ANY_COMMAND, BulkheadError, matchArguments, type CompartmentTool, type Power, type WholeOutput,
} from '@bulkhead/contract'
import { readHostPattern } from '@bulkhead/kit/hosts'
import { isJsonObject, type Json, type JsonObject } from '@bulkhead/kit/json'
import { Denial, stringArgument, type Remedies } from '../model/capability.ts'
import { hasHandle, type CallSecrets } from '../secrets/secrets.ts'
import type { CommandWall } from './wall-form.ts'

/** The limit of Linux for one argument. Here it applies to all of them together. */
const ARGUMENT_BYTES = 128 * 1024 - 1
const ARGUMENTS = 1_024
const COMMAND_CHARS = 128
const INPUT_CHARS = 1024 * 1024

export interface ShellRequest {
  readonly cmd: string
  readonly args: readonly string[]
  readonly cwd: string | undefined
  readonly input: string | undefined
}

/** Reads a request. Contract: throws InputInvalid for strings that a program would not receive unchanged. */
export function readRequest(given: readonly Json[]): ShellRequest {
  const options = given[2] ?? {}
  if (!isJsonObject(options)) throw invalid('its options must be an object')
  const { cwd, input } = options
  return {
    cmd: stringArgument(given, 0, 'The name of the command', COMMAND_CHARS),
    args: readArguments(given[1] ?? []),
    cwd: isGiven(cwd) ? stringArgument([cwd], 0, 'The working folder') : undefined,
    input: isGiven(input) ? stringArgument([input], 0, 'The input of the command', INPUT_CHARS) : undefined,
  }
}

function readArguments(given: Json): readonly string[] {
  if (!Array.isArray(given) || given.length > ARGUMENTS) {
    throw invalid(`its arguments must be an array of at most ${ARGUMENTS} strings`)
  }
  let bytes = 0
  const args = given.map((arg: Json) => {
    if (typeof arg !== 'string') throw invalid('each argument must be a string')
    // The program would receive something else than what was checked.
    if (arg.includes('\0') || !arg.isWellFormed()) throw invalid('an argument contains a NUL or an unpaired surrogate')
    bytes += Buffer.byteLength(arg) + 1
    return arg
  })
  if (bytes > ARGUMENT_BYTES) throw invalid(`its arguments are longer than ${ARGUMENT_BYTES} bytes`)
  return args
}

/**
 * Contract: throws CapabilityDenied unless the grant allows this command with these arguments, and each ceiling allows
 * `asked`, the command that the caller of a bundled tool wrote.
 */
export function checkRequest(
  tool: Pick<CompartmentTool, 'name' | 'grant'>, request: Pick<ShellRequest, 'cmd' | 'args'>, asked = request,
): void {
  const { name, grant } = tool
  const named = ({ shell }: Power, { cmd }: Pick<ShellRequest, 'cmd'>) =>
    shell.filter((command) => command.cmd === cmd || command.cmd === ANY_COMMAND)
  const layers = [
    { ...request, allowed: named(grant, request) },
    ...(grant.ceilings ?? []).map((ceiling) => ({ ...asked, allowed: named(ceiling, asked) })),
  ]
  const refused = layers.find(({ allowed, args }) => !allowed.some((command) => matchArguments(command.args, args)))
  if (refused === undefined) return
  const { cmd, allowed } = refused
  const data = { power: 'shell', cmd }
  if (allowed.length === 0) throw new Denial(`The tool ${name} may not run "${cmd}".`, COMMAND_DENIED, data)
  throw new Denial(`The tool ${name} may run "${cmd}", but not with these arguments.`, ARGUMENTS_DENIED, data)
}

const COMMAND_DENIED: Remedies = {
  author: 'Declare it in `requires.shell` by its bare name.',
  caller: 'Use a different command, or ask the operator to allow this one.',
}
const ARGUMENTS_DENIED: Remedies = {
  author: 'Declare a pattern for each in `requires.shell`.',
  caller: 'Use other arguments, or ask the operator to allow these.',
}

/** Replaces secret handles. Contract: throws CapabilityDenied if a secret is not for this command. */
export function withSecrets(request: ShellRequest, secrets: CallSecrets): ShellRequest {
  const { cmd, args, input } = request
  const filled = (text: string): string => secrets.inText(text, cmd)
  return { ...request, args: args.map(filled), input: input === undefined ? undefined : filled(input) }
}

const invalid = (why: string): BulkheadError => new BulkheadError('InputInvalid', `The command is invalid: ${why}.`)

const STAGES = 32
const HOSTS = 64
const ASKED = 300
const MAX_TIMEOUT_MS = 3_600_000

export type StageTarget = 'out' | 'err' | 'nothing' | { readonly path: string; readonly append: boolean }

export interface StageRequest {
  readonly cmd: string
  readonly args: readonly string[]
  readonly input: string | { readonly path: string } | undefined
  readonly stdout: StageTarget
  readonly stderr: StageTarget
  /** The commands that the caller of the tool wrote, if they differ. */
  readonly as: readonly Pick<ShellRequest, 'cmd' | 'args'>[] | undefined
}

export interface PipeRequest {
  readonly stages: readonly StageRequest[]
  readonly cwd: string | undefined
  readonly timeoutMs: number | undefined
  /** Absent: what is usual for the tool. */
  readonly wall: CommandWall | undefined
  /** What the command may reach behind the wall `work`. */
  readonly hosts: readonly string[] | 'all'
  readonly isolated: boolean
  readonly quiet: boolean
  readonly save: boolean | 'stderr'
  /** Set by the host if the output is saved. */
  readonly whole?: WholeOutput | undefined
  /** Each secret is for some of the commands, so each command has a wall of its own. */
  readonly hasSecrets?: boolean
}

/** Reads a request. Contract: throws InputInvalid. */
export function readPipeRequest(given: readonly Json[]): PipeRequest {
  const stages = given[0]
  const options = given[1] ?? {}
  if (!Array.isArray(stages) || stages.length === 0 || stages.length > STAGES) {
    throw invalidPipe(`it must be an array of 1 to ${STAGES} commands`)
  }
  if (!isJsonObject(options)) throw invalidPipe('its options must be an object')
  const { cwd, timeoutMs, wall, hosts, isolated, quiet, save } = options
  if (isGiven(wall) && !isWall(wall)) throw invalidPipe('its wall must be look, work or open')
  if (isGiven(hosts) && wall !== 'work') throw invalidPipe('only the wall work has hosts')
  if (isGiven(timeoutMs) && !isTimeout(timeoutMs)) {
    throw invalidPipe(`its timeoutMs must be a whole number from 1 to ${MAX_TIMEOUT_MS}`)
  }
  return {
    stages: stages.map(readStage),
    cwd: isGiven(cwd) ? stringArgument([cwd], 0, 'The working folder') : undefined,
    timeoutMs: isGiven(timeoutMs) ? timeoutMs : undefined,
    wall: isGiven(wall) ? wall : undefined,
    hosts: isGiven(hosts) ? readHosts(hosts) : [],
    isolated: isolated === true,
    quiet: quiet === true,
    save: save === 'stderr' ? save : save === true,
  }
}

/**
 * Contract: throws CapabilityDenied unless the grant allows every command. `isBundled`: the code ships with the host
 * and runs in its thread, so its `as` can be trusted.
 */
export function checkPipe(
  tool: Pick<CompartmentTool, 'name' | 'grant'>, { stages }: PipeRequest, isBundled: boolean,
): void {
  for (const stage of stages) {
    const asked = isBundled ? stage.as : undefined
    for (const command of asked ?? [stage]) checkRequest(tool, stage, command)
  }
}

/**
 * Contract: throws CapabilityDenied if a secret is not for its command, or output with secrets would go into a file.
 */
export function withStageSecrets<Request extends PipeRequest>(request: Request, secrets: CallSecrets): Request {
  const isGivenSecret = ({ args, input }: StageRequest): boolean =>
    [...args, input].some((text) => typeof text === 'string' && hasHandle(text))
  const writesFile = ({ stdout, stderr }: StageRequest): boolean =>
    typeof stdout === 'object' || typeof stderr === 'object'
  const hasSecrets = request.stages.some(isGivenSecret)
  if (hasSecrets && request.stages.some(writesFile)) {
    throw new BulkheadError(
      'CapabilityDenied',
      'Output of commands that get a secret cannot go into a file, because it is not redacted there. '
        + 'Return it, then write it.',
      { data: { power: 'secrets' } },
    )
  }
  return {
    ...request,
    ...(hasSecrets && { hasSecrets }),
    stages: request.stages.map((stage) => {
      const filled = (text: string): string => secrets.inText(text, stage.cmd)
      const { args, input } = stage
      return { ...stage, args: args.map(filled), input: typeof input === 'string' ? filled(input) : input }
    }),
  }
}

function readStage(given: Json, index: number): StageRequest {
  if (!isJsonObject(given)) throw invalidPipe('each command must be an object')
  const { input } = given
  if (isGiven(input) && index > 0) throw invalidPipe('only its first command may have an input')
  return {
    ...readCommand(given),
    input: isGiven(input) ? readInput(input) : undefined,
    stdout: readTarget(given.stdout, 'out'),
    stderr: readTarget(given.stderr, 'err'),
    as: readAsked(given.as),
  }
}

function readAsked(given: Json | undefined): StageRequest['as'] {
  if (!isGiven(given)) return undefined
  const commands = Array.isArray(given) ? given : [given]
  if (commands.length === 0 || commands.length > ASKED) throw invalidPipe(`\`as\` must have 1 to ${ASKED} commands`)
  return commands.map((command: Json) => {
    if (!isJsonObject(command)) throw invalidPipe('each command in `as` must be an object')
    return readCommand(command)
  })
}

const readCommand = ({ cmd, args }: JsonObject): Pick<ShellRequest, 'cmd' | 'args'> =>
  ({ cmd: stringArgument([cmd ?? null], 0, 'The name of the command', COMMAND_CHARS), args: readArguments(args ?? []) })

function readInput(given: Json): StageRequest['input'] {
  if (isJsonObject(given)) return { path: readPath(given.path) }
  return stringArgument([given], 0, 'The input of the command', INPUT_CHARS)
}

function readTarget(given: Json | undefined, usual: 'out' | 'err'): StageTarget {
  if (!isGiven(given)) return usual
  if (given === 'out' || given === 'err' || given === 'nothing') return given
  if (!isJsonObject(given)) throw invalidPipe('an output must be out, err, nothing or a file')
  return { path: readPath(given.path), append: given.append === true }
}

function readPath(given: Json | undefined): string {
  const path = stringArgument([given ?? null], 0, 'The path of the file')
  if (/\/\.?$/.test(path)) throw invalidPipe(`"${path}" ends in a slash, so it names a folder`)
  return path
}

const isWall = (value: Json): value is CommandWall => value === 'look' || value === 'work' || value === 'open'

function readHosts(given: Json): PipeRequest['hosts'] {
  if (given === 'all') return given
  const isPattern = (host: Json): host is string => typeof host === 'string' && readHostPattern(host) !== undefined
  if (Array.isArray(given) && given.length <= HOSTS && given.every(isPattern)) return given
  throw invalidPipe(`its hosts must be all, or an array of at most ${HOSTS} host patterns`)
}

const isTimeout = (value: Json): value is number =>
  typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= MAX_TIMEOUT_MS

const isGiven = <T extends Json>(value: T | undefined | null): value is T => value !== undefined && value !== null

const invalidPipe = (why: string): BulkheadError => new BulkheadError('InputInvalid', `The pipe is invalid: ${why}.`)
