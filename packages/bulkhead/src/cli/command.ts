/** One option. The parser, the help and the completion scripts read the same declaration. */
export interface OptionForm {
  readonly type: 'boolean' | 'string'
  readonly short?: string
  /** Whether it can be repeated. Its value is a list then. */
  readonly multiple?: true
  /** Name of the value in the help, such as DIR. */
  readonly value?: string
  /** All valid values, if the list is fixed. */
  readonly values?: readonly string[]
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

export interface Subcommand {
  readonly text: string
  /** Names of its own options. */
  readonly options: readonly string[]
}

/** A complete command line and what it does. */
export interface Example {
  readonly command: string
  readonly text: string
}

type ValueOf<Form extends OptionForm> = Form extends { readonly multiple: true }
  ? readonly string[]
  : Form extends { readonly values: readonly (infer Value)[] } ? Value : PlainValue<Form['type']>

type PlainValue<Type> = Type extends 'boolean' ? boolean : string

/** A parsed command line. */
export interface Given<Options extends CommandOptions = CommandOptions> {
  readonly values: { readonly [Name in keyof Options]?: ValueOf<Options[Name]> | undefined }
  readonly positionals: readonly string[]
}

export interface Command<Options extends CommandOptions = CommandOptions> {
  readonly usage: string
  /** The first argument, if it selects what the command does. The name '' is for a command without one. */
  readonly subcommands?: Readonly<Record<string, Subcommand>>
  /** By name, such as DIR. */
  readonly operands?: Readonly<Record<string, Operand>>
  readonly options: Options
  /** Follows the options in the help. */
  readonly details?: string
  /** When it exits with 0 and with 1, such as "if it is intact". Default: on success; if it was refused or failed. */
  readonly exits?: readonly [zero: string, one: string]
  readonly examples: readonly Example[]
  /** Resolves with the exit code. Throws UsageError for wrong usage. */
  run(given: Given<Options>): Promise<number>
}

/** Infers the types of the values from the options. */
export const defineCommand = <const Options extends CommandOptions>(command: Command<Options>): Command<Options> =>
  command

/** Options of every command. */
export const EVERY_OPTION = {
  'quiet': { type: 'boolean', text: 'print no progress and no hints; results, warnings and errors stay' },
  'no-color': { type: 'boolean', text: 'print no colors (also: NO_COLOR=1, or output that is not a terminal)' },
  'help': { type: 'boolean', short: 'h', text: 'print this help' },
} as const satisfies CommandOptions

/** The command line is invalid. Nothing was done. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

/** For commands that take options only. */
export function refuseArguments(command: string, positionals: readonly string[]): void {
  if (positionals.length > 0) {
    throw new UsageError(`Unexpected argument "${positionals.join(' ')}" after "${command}".`)
  }
}

/** Signals that stop a command after its running calls are cancelled. A second signal ends the process at once. */
export const ENDING_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
