import { type Command, EVERY_OPTION, type OptionForm } from './command.ts'

type Row = readonly [name: string, text: string]

/** The help of a command after its summary: arguments, options, details, exit codes and examples. */
export function commandHelp(command: Command): string {
  const { subcommands = {}, operands = {}, options, details = '', examples } = command
  const acts = Object.entries(subcommands).filter(([name]) => name !== '').map(([name, { text }]): Row => [name, text])
  const names = Object.entries(operands).map(([name, { text }]): Row => [name, text])
  const shown = Object.entries<OptionForm>(options).filter(([, { text }]) => text !== undefined)
    .map(([name, { value, text = '' }]): Row => [`--${name}${value === undefined ? '' : ` ${value}`}`, text])
  const width = Math.max(0, ...[...acts, ...names, ...shown].map(([name]) => name.length))
  const listed = (rows: readonly Row[]): string => rows.map(([name, text]) =>
    `  ${name.padEnd(width)}  ${text.replaceAll('\n', `\n${' '.repeat(width + 4)}`)}`).join('\n')
  return [
    listed(acts), listed([...names, ...shown]), details, exitText(command),
    ['Examples', ...examples.flatMap(({ command: line, text }) => [`  # ${text}`, `  ${line}`])].join('\n'),
  ].filter((part) => part !== '').join('\n\n')
}

/** When a command exits with 0 and with 1. */
export const exitsOf = ({ exits = ['on success', 'if it was refused or failed'] }: Pick<Command, 'exits'>): Row => exits

function exitText(command: Pick<Command, 'exits'>): string {
  const [zero, one] = exitsOf(command)
  return `Exit code: 0 ${zero}, 1 ${one}, 2 for wrong usage.`
}

/** The options of every command, in one line. */
export const EVERY_COMMAND = `Every command: ${Object.keys(EVERY_OPTION).map((name) => `--${name}`).join(', ')}.`
