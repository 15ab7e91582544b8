import { parseArgs } from 'node:util'
import { messageOf } from '@bulkhead/kit/error-message'
import { meantNames } from '@bulkhead/kit/text'
import { type Command, type CommandOptions, EVERY_OPTION, type Given, type OptionForm, UsageError } from './command.ts'

type EveryGiven = Given<CommandOptions & typeof EVERY_OPTION>

/** Parses the arguments of a command. Throws UsageError, with the nearest name for an unknown one. */
export function readOptions(
  name: string, args: readonly string[], { options: own, subcommands }: Pick<Command, 'options' | 'subcommands'>,
): EveryGiven {
  const options = { ...own, ...EVERY_OPTION }
  const given = parsed(args, options)
  for (const [option, form] of Object.entries<OptionForm>(own)) refuseOtherValues(option, form, given.values[option])
  if (subcommands) refuseOtherSubcommands(name, subcommands, given)
  return given
}

function parsed(args: readonly string[], options: CommandOptions): EveryGiven {
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true, strict: true }) as EveryGiven
  } catch (error) {
    // Node appends advice about arguments that start with a dash. It does not apply here.
    const message = messageOf(error).replace(/ To specify a positional argument.*$/s, '')
    const unknown = /^Unknown option '--([^']+)'/.exec(message)?.[1]
    const shown = Object.entries(options).filter(([, { text }]) => text !== undefined).map(([name]) => name)
    throw new UsageError(
      message + (unknown === undefined ? '' : meantNames(unknown, shown).replaceAll(' "', ' "--')),
    )
  }
}

function refuseOtherValues(option: string, { values }: OptionForm, given: unknown): void {
  if (values === undefined || typeof given !== 'string' || values.includes(given)) return
  throw new UsageError(
    `--${option} must be one of ${values.join(', ')}, not "${given}".${meantNames(given, values)}`,
  )
}

function refuseOtherSubcommands(
  name: string, subcommands: NonNullable<Command['subcommands']>, { values, positionals: [act] }: EveryGiven,
): void {
  const names = Object.keys(subcommands).filter((one) => one !== '')
  const chosen = act ?? ''
  if (act === undefined && !Object.hasOwn(subcommands, chosen)) {
    throw new UsageError(`Missing subcommand: ${names.slice(0, -1).join(', ')} or ${names.at(-1)}.`)
  }
  if (act === '' || !Object.hasOwn(subcommands, chosen)) {
    const what = Object.hasOwn(subcommands, '')
      ? `Unexpected argument "${act}" after "${name}".` : `There is no "${name} ${act}".`
    throw new UsageError(`${what}${meantNames(chosen, names)}`)
  }
  const own = subcommands[chosen]!.options
  const ofOthers = new Set(Object.values(subcommands).flatMap(({ options }) => options))
  const foreign = Object.keys(values).find((option) => ofOthers.has(option) && !own.includes(option))
  if (foreign !== undefined) throw new UsageError(`--${foreign} cannot be used with "${`${name} ${chosen}`.trim()}".`)
}
