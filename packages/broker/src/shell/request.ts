import type { CompartmentTool, Power } from '@bulkhead/contract'
import type { Json } from '@bulkhead/kit/json'
import { ANY_COMMAND, BulkheadError, matchArguments } from '@bulkhead/contract'
import { isJsonObject } from '@bulkhead/kit/json'
import { textArgument } from '../model/capability.ts'
import { Denial, type Cures } from '../model/denial.ts'
import type { CallSecrets } from '../secrets/handles.ts'

/** One argument alone may not be longer on Linux; here all of them together are not. */
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

/** What a compartment asks to be run. Contract: throws InputInvalid for what could not be handed to a program as it stands. */
export function readRequest(given: readonly Json[]): ShellRequest {
  const options = given[2] ?? {}
  if (!isJsonObject(options)) throw invalid('its options are not an object')
  const { cwd, input } = options
  return {
    cmd: textArgument(given, 0, 'The name of a command', COMMAND_CHARS),
    args: readArguments(given[1] ?? []),
    cwd: cwd === undefined || cwd === null ? undefined : textArgument([cwd], 0, 'The working folder'),
    input: input === undefined || input === null ? undefined : textArgument([input], 0, 'The input of a command', INPUT_CHARS),
  }
}

export function readArguments(given: Json): readonly string[] {
  if (!Array.isArray(given) || given.length > ARGUMENTS) {
    throw invalid(`its arguments are not a list of at most ${ARGUMENTS} texts`)
  }
  let bytes = 0
  const args = given.map((arg: Json) => {
    if (typeof arg !== 'string') throw invalid('an argument is not a text')
    // Both would reach the program as something else than what was judged.
    if (arg.includes('\0') || !arg.isWellFormed()) throw invalid('an argument has a NUL or half a character in it')
    bytes += Buffer.byteLength(arg) + 1
    return arg
  })
  if (bytes > ARGUMENT_BYTES) throw invalid(`its arguments are longer than ${ARGUMENT_BYTES} bytes`)
  return args
}

/**
 * Contract: throws CapabilityDenied unless a command of the grant allows this name with exactly these arguments, and one of
 * each of its ceilings that of the command it was asked for.
 */
export function judgeRequest(
  tool: Pick<CompartmentTool, 'name' | 'grant'>, request: Pick<ShellRequest, 'cmd' | 'args'>, asked = request,
): void {
  const { name, grant } = tool
  const named = ({ shell }: Power, { cmd }: Pick<ShellRequest, 'cmd'>) =>
    shell.filter((command) => command.cmd === cmd || command.cmd === ANY_COMMAND)
  const layers = [{ ...request, allowed: named(grant, request) }, ...(grant.ceilings ?? []).map((ceiling) => ({ ...asked, allowed: named(ceiling, asked) }))]
  const refused = layers.find(({ allowed, args }) => !allowed.some((command) => matchArguments(command.args, args)))
  if (refused === undefined) return
  const { cmd, allowed } = refused
  const data = { power: 'shell', cmd }
  if (allowed.length === 0) throw new Denial(`The tool ${name} may not run "${cmd}".`, NOT_THIS, data)
  throw new Denial(`The tool ${name} may run "${cmd}", but not with these arguments.`, NOT_SO, data)
}

const NOT_THIS: Cures = {
  author: 'Declare it in `requires.shell` by its bare name.',
  caller: 'Run another command, or ask the operator to allow this one.',
}
const NOT_SO: Cures = {
  author: 'Declare a pattern for each in `requires.shell`.',
  caller: 'Run it with other arguments, or ask the operator to allow these.',
}

/** What is run in the end. Contract: throws CapabilityDenied where a secret is not for this command. */
export function withSecrets(request: ShellRequest, secrets: CallSecrets): ShellRequest {
  const { cmd, args, input } = request
  const filled = (text: string): string => secrets.inText(text, cmd)
  return { ...request, args: args.map(filled), input: input === undefined ? undefined : filled(input) }
}

const invalid = (why: string): BulkheadError => new BulkheadError('InputInvalid', `The command cannot be run: ${why}.`)
