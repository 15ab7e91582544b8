import {
  type Action, actionsOf, type Command, EVERY_OPTION, type OptionForm, optionsOf, shownOptions,
} from './command.ts'

type Row = readonly [name: string, text: string]

/** The help of a command after its summary: arguments, options, details, exit codes and examples. */
export function commandHelp(command: Command): string {
  const { operands = {}, details = '', examples } = command
  const acts = 'subcommands' in command
    ? Object.entries(command.subcommands).filter(([act]) => act !== '').map(([act, { text }]): Row => [act, text]) : []
  const names = Object.entries(operands).map(([operand, { text }]): Row => [operand, text])
  const options = shownOptions(optionsOf(command))
    .map(([option, { value, text = '' }]): Row => [`--${option}${value === undefined ? '' : ` ${value}`}`, text])
  const width = Math.max(0, ...[...acts, ...names, ...options].map(([word]) => word.length))
  const listed = (rows: readonly Row[]): string => rows.map(([word, text]) =>
    `  ${word.padEnd(width)}  ${text.replaceAll('\n', `\n${' '.repeat(width + 4)}`)}`).join('\n')
  return [
    listed(acts), listed([...names, ...options]), details, exitText(command),
    ['Examples', ...examples.flatMap(({ command: line, text }) => [`  # ${text}`, `  ${line}`])].join('\n'),
  ].filter((part) => part !== '').join('\n\n')
}

/** One form for each subcommand. */
export const usageOf = (name: string, command: Command): string => Object.entries(actionsOf(command))
  .map(([act, action]) => formOf(['bulkhead', name, act].filter((word) => word !== '').join(' '), action)).join('\n')

function formOf(start: string, { usage = '', options }: Action): string {
  const forms = new Map(shownOptions(options).map(([name, form]) => [name, optionForm(name, form)]))
  const grouped = new Set<string>()
  const [given = '', ...afterDashes] = usage.replaceAll(/--([a-z-]+)/g, (_, name: string) => {
    grouped.add(name)
    return forms.get(name)!
  }).split(/ (?=-- )/)
  const others = shownOptions(options).filter(([name]) => !grouped.has(name))
    .map(([name, { multiple }]) => `[${forms.get(name)}]${multiple ? '…' : ''}`)
  return wrapped([start, ...(given === '' ? [] : [given]), ...others, ...afterDashes])
}

const optionForm = (name: string, { type, value, values }: OptionForm): string =>
  type === 'boolean' ? `--${name}` : `--${name} ${values?.join('|') ?? value}`

const COLUMNS = 120

function wrapped([start = '', ...words]: readonly string[]): string {
  let column = start.length
  return words.reduce((text, word) => {
    column += word.length + 1
    if (column <= COLUMNS) return `${text} ${word}`
    column = word.length + 2
    return `${text}\n  ${word}`
  }, start)
}

/** When a command exits with 0 and with 1. */
export const exitsOf = ({ exits = ['on success', 'if it was refused or failed'] }: Pick<Command, 'exits'>): Row => exits

function exitText(command: Command): string {
  const [zero, one] = exitsOf(command)
  return `Exit code: 0 ${zero}, 1 ${one}, 2 for wrong usage.`
}

/** The options of every command, in one line. */
export const EVERY_COMMAND = `Every command: ${Object.keys(EVERY_OPTION).map((name) => `--${name}`).join(', ')}.`
