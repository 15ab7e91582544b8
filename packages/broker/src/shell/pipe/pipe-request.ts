import { BulkheadError, type CompartmentTool } from '@bulkhead/contract'
import { isJsonObject, type Json, type JsonObject } from '@bulkhead/kit/json'
import { stringArgument } from '../../model/capability.ts'
import { hasHandle, type CallSecrets } from '../../secrets/secrets.ts'
import { COMMAND_CHARS, INPUT_CHARS, checkRequest, readArguments, type ShellRequest } from '../request.ts'

const STAGES = 32
const MAX_TIMEOUT_MS = 3_600_000

export type StageTarget = 'out' | 'err' | 'nothing' | { readonly path: string; readonly append: boolean }

export interface StageRequest {
  readonly cmd: string
  readonly args: readonly string[]
  readonly input: string | { readonly path: string } | undefined
  readonly stdout: StageTarget
  readonly stderr: StageTarget
  /** The command that the caller of the tool wrote, if it differs. */
  readonly as: Pick<ShellRequest, 'cmd' | 'args'> | undefined
}

export interface PipeRequest {
  readonly stages: readonly StageRequest[]
  readonly cwd: string | undefined
  readonly timeoutMs: number | undefined
  readonly wall: 'read' | 'work' | undefined
  readonly quiet: boolean
}

/** Reads a request. Contract: throws InputInvalid. */
export function readPipeRequest(given: readonly Json[]): PipeRequest {
  const stages = given[0]
  const options = given[1] ?? {}
  if (!Array.isArray(stages) || stages.length === 0 || stages.length > STAGES) {
    throw invalid(`it must be an array of 1 to ${STAGES} commands`)
  }
  if (!isJsonObject(options)) throw invalid('its options must be an object')
  const { cwd, timeoutMs, wall, quiet } = options
  if (isGiven(wall) && wall !== 'read' && wall !== 'work') throw invalid('its wall must be read or work')
  if (isGiven(timeoutMs) && !(Number.isInteger(timeoutMs) && timeoutMs as number >= 1 && timeoutMs as number <= MAX_TIMEOUT_MS)) {
    throw invalid(`its timeoutMs must be a whole number from 1 to ${MAX_TIMEOUT_MS}`)
  }
  return {
    stages: stages.map(readStage),
    cwd: isGiven(cwd) ? stringArgument([cwd], 0, 'The working folder') : undefined,
    timeoutMs: isGiven(timeoutMs) ? timeoutMs as number : undefined,
    wall: isGiven(wall) ? wall : undefined,
    quiet: quiet === true,
  }
}

/**
 * Contract: throws CapabilityDenied unless the grant allows every command. `isBundled`: the code ships with the host and
 * runs in its thread, so its `as` can be trusted.
 */
export function checkPipe(tool: Pick<CompartmentTool, 'name' | 'grant'>, { stages }: PipeRequest, isBundled: boolean): void {
  for (const stage of stages) checkRequest(tool, stage, isBundled ? stage.as : undefined)
}

/** Contract: throws CapabilityDenied if a secret is not for its command, or output with secrets would go into a file. */
export function withStageSecrets(request: PipeRequest, secrets: CallSecrets): PipeRequest {
  const isGivenSecret = ({ args, input }: StageRequest): boolean =>
    [...args, input].some((text) => typeof text === 'string' && hasHandle(text))
  const writesFile = ({ stdout, stderr }: StageRequest): boolean => typeof stdout === 'object' || typeof stderr === 'object'
  if (request.stages.some(isGivenSecret) && request.stages.some(writesFile)) {
    throw new BulkheadError(
      'CapabilityDenied',
      'Output of commands that get a secret cannot go into a file, because it is not redacted there. Return it, then write it.',
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
  if (!isJsonObject(given)) throw invalid('each command must be an object')
  const { input } = given
  if (isGiven(input) && index > 0) throw invalid('only its first command may have an input')
  return {
    ...readCommand(given),
    input: isGiven(input) ? readInput(input) : undefined,
    stdout: readTarget(given.stdout, 'out'),
    stderr: readTarget(given.stderr, 'err'),
    as: isJsonObject(given.as) ? readCommand(given.as) : undefined,
  }
}

const readCommand = ({ cmd, args }: JsonObject): Pick<ShellRequest, 'cmd' | 'args'> =>
  ({ cmd: stringArgument([cmd ?? null], 0, 'The name of the command', COMMAND_CHARS), args: readArguments(args ?? []) })

function readInput(given: Json): StageRequest['input'] {
  return isJsonObject(given) ? { path: readPath(given.path) } : stringArgument([given], 0, 'The input of the command', INPUT_CHARS)
}

function readTarget(given: Json | undefined, usual: 'out' | 'err'): StageTarget {
  if (!isGiven(given)) return usual
  if (given === 'out' || given === 'err' || given === 'nothing') return given
  if (!isJsonObject(given)) throw invalid('an output must be out, err, nothing or a file')
  return { path: readPath(given.path), append: given.append === true }
}

function readPath(given: Json | undefined): string {
  const path = stringArgument([given ?? null], 0, 'The path of the file')
  if (/\/\.?$/.test(path)) throw invalid(`"${path}" ends in a slash, so it names a folder`)
  return path
}

const isGiven = <T extends Json>(value: T | undefined | null): value is T => value !== undefined && value !== null

const invalid = (why: string): BulkheadError => new BulkheadError('InputInvalid', `The pipe is invalid: ${why}.`)
