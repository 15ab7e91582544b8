import { parseArgs } from 'node:util'
import { messageOf } from '@bulkhead/kit/error-message'
import { meantNames } from '@bulkhead/kit/text'
import {
  type Action, type Command, type CommandOptions, EVERY_OPTION, type Given, type OptionForm, optionsOf, shownOptions,
  UsageError,
} from './command.ts'

type EveryGiven = Given<CommandOptions & typeof EVERY_OPTION>

/** Parses the arguments of a command. Throws UsageError, with the nearest name for an unknown one. */
export function readOptions(
  name: string, args: readonly string[], command: Command,
): { readonly action: Action; readonly given: EveryGiven } {
  const options: CommandOptions = { ...optionsOf(command), ...EVERY_OPTION }
  const { values: given, positionals } = parsed(args, options)
  const values = Object.fromEntries(Object.entries(given).map(([option, value]) =>
    [option, readValue(option, options[option]!, value)])) as EveryGiven['values']
  const [act = '', ...operands] = 'subcommands' in command ? positionals : ['', ...positionals]
  const chosen = `${name} ${act}`.trim()
  const action = chosenAction(name, positionals[0], command)
  const foreign = Object.keys(values).find((option) => !Object.hasOwn({ ...action.options, ...EVERY_OPTION }, option))
  if (foreign !== undefined) throw new UsageError(`--${foreign} cannot be used with "${chosen}".`)
  if (operands.length > 0 && !takesArguments(action)) {
    throw new UsageError(`Unexpected argument "${operands.join(' ')}" after "${chosen}".`)
  }
  return { action, given: { values, positionals: operands } }
}

/** A word without dashes is the name of an argument. */
const takesArguments = ({ usage = '' }: Action): boolean => /(?<![\w-])\w/.test(usage)

function parsed(args: readonly string[], options: CommandOptions): EveryGiven {
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true, strict: true }) as EveryGiven
  } catch (error) {
    // Node appends advice about arguments that start with a dash. It does not apply here.
    const message = messageOf(error).replace(/ To specify a positional argument.*$/s, '')
    const unknown = /^Unknown option '--([^']+)'/.exec(message)?.[1]
    const shown = shownOptions(options).map(([name]) => name)
    throw new UsageError(
      message + (unknown === undefined ? '' : meantNames(unknown, shown).replaceAll(' "', ' "--')),
    )
  }
}

/** The value of an option, as it is declared. */
function readValue(option: string, { values, whole }: OptionForm, given: unknown): unknown {
  if (typeof given !== 'string') return given
  if (values !== undefined && !values.includes(given)) {
    throw new UsageError(`--${option} must be one of ${values.join(', ')}, not "${given}".${meantNames(given, values)}`)
  }
  if (whole === undefined) return given
  const { least, most = Number.MAX_SAFE_INTEGER, unit } = whole
  const number = given.trim() === '' ? Number.NaN : Number(given)
  if (Number.isInteger(number) && number >= least && number <= most) return number
  const range = `${unit === undefined ? '' : ` of ${unit}`} from ${least}${whole.most === undefined ? '' : ` to ${most}`}`
  throw new UsageError(`--${option} must be a whole number${range}, not "${given}".`)
}

function chosenAction(name: string, act: string | undefined, command: Command): Action {
  if (!('subcommands' in command)) return command
  const { '': alone, ...others } = command.subcommands
  const names = Object.keys(others)
  const chosen = act === undefined ? alone : act !== '' && Object.hasOwn(others, act) ? others[act] : undefined
  if (chosen !== undefined) return chosen
  if (act === undefined) {
    throw new UsageError(`Missing subcommand: ${names.slice(0, -1).join(', ')} or ${names.at(-1)}.`)
  }
  const what = alone ? `Unexpected argument "${act}" after "${name}".` : `There is no "${name} ${act}".`
  throw new UsageError(`${what}${meantNames(act, names)}`)
}
