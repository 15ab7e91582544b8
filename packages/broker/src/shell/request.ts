import { ANY_COMMAND, BulkheadError, matchArguments, type CompartmentTool, type Power } from '@bulkhead/contract'
import { isJsonObject, type Json } from '@bulkhead/kit/json'
import { Denial, stringArgument, type Remedies } from '../model/capability.ts'
import type { CallSecrets } from '../secrets/secrets.ts'

/** The limit of Linux for one argument. Here it applies to all of them together. */
const ARGUMENT_BYTES = 128 * 1024 - 1
const ARGUMENTS = 1_024
export const COMMAND_CHARS = 128
export const INPUT_CHARS = 1024 * 1024

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
    cwd: cwd === undefined || cwd === null ? undefined : stringArgument([cwd], 0, 'The working folder'),
    input: input === undefined || input === null ? undefined : stringArgument([input], 0, 'The input of the command', INPUT_CHARS),
  }
}

export function readArguments(given: Json): readonly string[] {
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
