/** One option. Parser, usage, help, completion scripts and reference page read this declaration. */
export interface OptionForm {
  readonly type: 'boolean' | 'string'
  readonly short?: string
  /** Whether it can be repeated. Its value is a list then. */
  readonly multiple?: true
  /** Name of the value, such as DIR. */
  readonly value?: string
  /** All valid values, if the list is fixed. */
  readonly values?: readonly string[]
  /** The value is a whole number. */
  readonly whole?: { readonly least: number; readonly most?: number; readonly unit?: string }
  readonly completes?: Completed
  /** Line breaks are kept. Absent: the option is accepted, but not shown. */
  readonly text?: string
}

export type CommandOptions = Readonly<Record<string, OptionForm>>

/** What a shell offers for a value or an argument. */
export type Completed = 'folder' | 'file' | 'tool' | 'extension' | 'agent'

/** An argument without a dash. */
export interface Operand {
  readonly text: string
  readonly values?: readonly string[]
  readonly completes?: Completed
}

/** A complete command line and what it does. */
export interface Example {
  readonly command: string
  readonly text: string
}

type ValueOf<Form extends OptionForm> = Form extends { readonly multiple: true }
  ? readonly string[]
  : Form extends { readonly values: readonly (infer Value)[] } ? Value
    : Form extends { readonly whole: object } ? number : PlainValue<Form['type']>

type PlainValue<Type> = Type extends 'boolean' ? boolean : string

export type ValuesOf<Options extends CommandOptions> =
  { readonly [Name in keyof Options]?: ValueOf<Options[Name]> | undefined }

/** A parsed command line. */
export interface Given<Options extends CommandOptions = CommandOptions> {
  readonly values: ValuesOf<Options>
  /** Without the name of a subcommand. */
  readonly positionals: readonly string[]
}

/** What a command or a subcommand does. */
export interface Action<Options extends CommandOptions = CommandOptions> {
  /**
   * Arguments, and options that belong together, such as "[DIR] NAME" or "[--project | --all]". The other options
   * follow. Default: no arguments.
   */
  readonly usage?: string
  readonly options: Options
  /** Resolves with the exit code. Throws UsageError for wrong usage. */
  run(given: Given<Options>): Promise<number>
}

export interface Subcommand<Options extends CommandOptions = CommandOptions> extends Action<Options> {
  readonly text: string
}

interface CommandHelp {
  /** By name, such as DIR. */
  readonly operands?: Readonly<Record<string, Operand>>
  /** Follows the options in the help. */
  readonly details?: string
  /** When it exits with 0 and with 1, such as "if it is intact". Default: on success; if it was refused or failed. */
  readonly exits?: readonly [zero: string, one: string]
  readonly examples: readonly Example[]
}

interface Group extends CommandHelp {
  /** By the first argument. The name '' is for a command without one. An option of several has one declaration. */
  readonly subcommands: Readonly<Record<string, Subcommand>>
}

export type Command<Options extends CommandOptions = CommandOptions> = Group | (CommandHelp & Action<Options>)

/** Infers the types of the values from the options. */
export const defineCommand = <const Options extends CommandOptions>(command: CommandHelp & Action<Options>): Command =>
  command

export const defineSubcommand = <const Options extends CommandOptions>(command: Subcommand<Options>): Subcommand =>
  command

/** By subcommand. The name '' is for none. */
export const actionsOf = (command: Command): Readonly<Record<string, Action>> =>
  'subcommands' in command ? command.subcommands : { '': command }

/** The options that every subcommand has, and those of some subcommands. */
export function optionGroups(command: Command): Readonly<Record<'common' | 'special', CommandOptions>> {
  const all = Object.values(actionsOf(command)).map(({ options }) => options)
  const entries = Object.entries<OptionForm>(Object.assign({}, ...all))
  const isCommon = (name: string) => all.every((options) => Object.hasOwn(options, name))
  return {
    common: Object.fromEntries(entries.filter(([name]) => isCommon(name))),
    special: Object.fromEntries(entries.filter(([name]) => !isCommon(name))),
  }
}

/** All options that a command accepts. */
export function optionsOf(command: Command): CommandOptions {
  const { common, special } = optionGroups(command)
  return { ...special, ...common }
}

export const shownOptions = (options: CommandOptions): readonly (readonly [name: string, form: OptionForm])[] =>
  Object.entries(options).filter(([, { text }]) => text !== undefined)

/** Options of every command. */
export const EVERY_OPTION = {
  'quiet': { type: 'boolean', text: 'print no progress and no hints; results, warnings and errors stay' },
  'no-color': { type: 'boolean', text: 'print no colors (also: NO_COLOR=1, or output that is not a terminal)' },
  'help': { type: 'boolean', short: 'h', text: 'print this help' },
} as const satisfies CommandOptions

/** The parts of an option such as `--labels gpu,fast`. */
export const commaSeparated = (text: string): readonly string[] => text.split(',').map((one) => one.trim()).filter((one) => one !== '')

/** The command line is invalid. Nothing was done. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

/** Signals that stop a command after its running calls are cancelled. A second signal ends the process at once. */
export const ENDING_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
