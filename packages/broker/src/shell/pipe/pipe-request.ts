import type { CompartmentTool } from '@bulkhead/contract'
import type { Json, JsonObject } from '@bulkhead/kit/json'
import { BulkheadError } from '@bulkhead/contract'
import { isJsonObject } from '@bulkhead/kit/json'
import { textArgument } from '../../model/capability.ts'
import type { CallSecrets } from '../../secrets/handles.ts'
import { hasHandle } from '../../secrets/handle.ts'
import { COMMAND_CHARS, INPUT_CHARS, judgeRequest, readArguments, type ShellRequest } from '../request.ts'

const STAGES = 32
const MAX_TIMEOUT_MS = 3_600_000

export type StageTarget = 'out' | 'err' | 'nothing' | { readonly path: string; readonly append: boolean }

export interface StageRequest {
  readonly cmd: string
  readonly args: readonly string[]
  readonly input: string | { readonly path: string } | undefined
  readonly stdout: StageTarget
  readonly stderr: StageTarget
  /** The command that the tool was asked for, where it is not this one. */
  readonly as: Pick<ShellRequest, 'cmd' | 'args'> | undefined
}

export interface PipeRequest {
  readonly stages: readonly StageRequest[]
  readonly cwd: string | undefined
  readonly timeoutMs: number | undefined
  readonly wall: 'read' | 'work' | undefined
  readonly quiet: boolean
}

/** What a compartment asks to be run in a pipe. Contract: throws InputInvalid for what is not one. */
export function readPipeRequest(given: readonly Json[]): PipeRequest {
  const stages = given[0]
  const options = given[1] ?? {}
  if (!Array.isArray(stages) || stages.length === 0 || stages.length > STAGES) {
    throw invalid(`its commands are not a list of 1 to ${STAGES}`)
  }
  if (!isJsonObject(options)) throw invalid('its options are not an object')
  const { cwd, timeoutMs, wall, quiet } = options
  if (isGiven(wall) && wall !== 'read' && wall !== 'work') throw invalid('its wall is neither read nor work')
  if (isGiven(timeoutMs) && !(Number.isInteger(timeoutMs) && timeoutMs as number >= 1 && timeoutMs as number <= MAX_TIMEOUT_MS)) {
    throw invalid(`its timeoutMs is not a number from 1 to ${MAX_TIMEOUT_MS}`)
  }
  return {
    stages: stages.map(readStage),
    cwd: isGiven(cwd) ? textArgument([cwd], 0, 'The working folder') : undefined,
    timeoutMs: isGiven(timeoutMs) ? timeoutMs as number : undefined,
    wall: isGiven(wall) ? wall : undefined,
    quiet: quiet === true,
  }
}

/**
 * Contract: throws CapabilityDenied unless the grant allows every one of the commands. `isOurs`: the code ships with the host and
 * runs in its thread, so that what it says it was asked for is true.
 */
export function judgePipe(tool: Pick<CompartmentTool, 'name' | 'grant'>, { stages }: PipeRequest, isOurs: boolean): void {
  for (const stage of stages) judgeRequest(tool, stage, isOurs ? stage.as : undefined)
}

/** Contract: throws CapabilityDenied where a secret is not for its command, or nothing would take it out of what comes back. */
export function withStageSecrets(request: PipeRequest, secrets: CallSecrets): PipeRequest {
  const isGivenSecret = ({ args, input }: StageRequest): boolean =>
    [...args, input].some((text) => typeof text === 'string' && hasHandle(text))
  const writesFile = ({ stdout, stderr }: StageRequest): boolean => typeof stdout === 'object' || typeof stderr === 'object'
  if (request.stages.some(isGivenSecret) && request.stages.some(writesFile)) {
    throw new BulkheadError(
      'CapabilityDenied',
      'What commands write that were given a secret does not go into a file, where nobody takes it out. Take it, and write it.',
      { data: { power: 'secrets' } },
    )
  }
  return {
    ...request,
    stages: request.stages.map((stage) => {
      const filled = (text: string): string => secrets.inText(text, stage.cmd)
      const { args, input } = stage
      return { ...stage, args: args.map(filled), input: typeof input === 'string' ? filled(input) : input }
    }),
  }
}

function readStage(given: Json, index: number): StageRequest {
  if (!isJsonObject(given)) throw invalid('a command of it is not an object')
  const { input } = given
  if (isGiven(input) && index > 0) throw invalid('only its first command has an input of its own')
  return {
    ...readCommand(given),
    input: isGiven(input) ? readInput(input) : undefined,
    stdout: readTarget(given.stdout, 'out'),
    stderr: readTarget(given.stderr, 'err'),
    as: isJsonObject(given.as) ? readCommand(given.as) : undefined,
  }
}

const readCommand = ({ cmd, args }: JsonObject): Pick<ShellRequest, 'cmd' | 'args'> =>
  ({ cmd: textArgument([cmd ?? null], 0, 'The name of a command', COMMAND_CHARS), args: readArguments(args ?? []) })

function readInput(given: Json): StageRequest['input'] {
  return isJsonObject(given) ? { path: readPath(given.path) } : textArgument([given], 0, 'The input of a command', INPUT_CHARS)
}

function readTarget(given: Json | undefined, usual: 'out' | 'err'): StageTarget {
  if (!isGiven(given)) return usual
  if (given === 'out' || given === 'err' || given === 'nothing') return given
  if (!isJsonObject(given)) throw invalid('an output goes to none of the places there are')
  return { path: readPath(given.path), append: given.append === true }
}

function readPath(given: Json | undefined): string {
  const path = textArgument([given ?? null], 0, 'The path of a file')
  if (/\/\.?$/.test(path)) throw invalid(`"${path}" ends in a slash, which names a folder and no file`)
  return path
}

const isGiven = <T extends Json>(value: T | undefined | null): value is T => value !== undefined && value !== null

const invalid = (why: string): BulkheadError => new BulkheadError('InputInvalid', `The commands cannot be run: ${why}.`)
