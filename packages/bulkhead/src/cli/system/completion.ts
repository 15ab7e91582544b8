import { meantNames } from '@bulkhead/kit/text'
import {
  type Action, actionsOf, type Command, defineCommand, EVERY_OPTION, optionGroups, shownOptions, UsageError,
} from '../command.ts'
import { SCRIPTS, type Choice, type Completion, type Offer } from './completion-scripts.ts'

type CommandTable = ReadonlyMap<string, { readonly summary: string; load(): Promise<Command> }>

const SHELLS = Object.keys(SCRIPTS) as readonly (keyof typeof SCRIPTS)[]

/** The command `completion` for this table of commands. */
export const completionOf = (commands: CommandTable) => defineCommand({
  usage: SHELLS.join('|'),
  operands: { SHELL: { text: 'bash, zsh or fish', values: SHELLS } },
  options: {
    // The scripts ask for names of this folder with it.
    names: { type: 'string', value: 'KIND', values: ['tool', 'extension', 'agent'] },
  },
  details: `Prints a script that completes commands, options, their values, and the names of tools, extensions and agents. To
load it at each start of the shell:

  bash   echo 'source <(bulkhead completion bash)' >> ~/.bashrc
  zsh    bulkhead completion zsh > ~/.zfunc/_bulkhead   (a folder in your fpath, before compinit)
  fish   bulkhead completion fish > ~/.config/fish/completions/bulkhead.fish`,
  examples: [{ command: 'bulkhead completion bash', text: 'the script for bash' }],

  async run({ values: { names }, positionals: [given, ...more] }) {
    if (names !== undefined) return printNames(names)
    const shell = SHELLS.find((one) => one === given)
    if (shell === undefined || more.length > 0) {
      const meant = given === undefined ? '' : meantNames(given, SHELLS)
      throw new UsageError(`Name one shell after "completion": ${SHELLS.join(', ')}.${meant}`)
    }
    process.stdout.write(SCRIPTS[shell](await offersOf(commands)))
    return 0
  },
})

/** Nothing else: shells expand what they read here. */
const PLAIN_NAME = /^[\w.-]+$/

async function printNames(kind: 'tool' | 'extension' | 'agent'): Promise<number> {
  const { inspect } = await import('../inspect.ts')
  const { host } = await inspect({})
  const names = kind === 'extension'
    ? host.extensions().filter(({ layer }) => layer !== 'bundled').map(({ id }) => id)
    : (kind === 'tool' ? host.tools() : host.agents()).map(({ name }) => name)
  await host.close()
  process.stdout.write(names.filter((name) => PLAIN_NAME.test(name)).map((name) => `${name}\n`).join(''))
  return 0
}

async function offersOf(commands: CommandTable): Promise<Completion> {
  const loaded = await Promise.all(
    [...commands].map(async ([name, { summary, load }]) => ({ name, summary, command: await load() })),
  )
  return {
    commands: loaded.map(({ name, summary }): Choice => [name, summary]),
    offers: loaded.flatMap(({ name, command }) => offersOfCommand(name, command)),
  }
}

/** A command with subcommands makes an offer for each, and one to choose it. */
function offersOfCommand(name: string, command: Command): readonly Offer[] {
  const [operand = {}] = Object.values(command.operands ?? {})
  const offers = Object.entries(actionsOf(command)).map(([act, action]): Offer =>
    ({ command: name, subcommand: act === '' ? undefined : act, options: offeredOptions(action.options), operand }))
  if (!('subcommands' in command)) return offers
  const named = offers.filter(({ subcommand }) => subcommand !== undefined)
  const choices = Object.entries(command.subcommands).filter(([act]) => act !== '')
    .map(([act, { text }]): Choice => [act, text])
  const alone = command.subcommands['']?.options ?? optionGroups(command).common
  return [
    { command: name, subcommand: undefined, options: offeredOptions(alone), operand: { choices } }, ...named,
  ]
}

const offeredOptions = (options: Action['options']): Offer['options'] =>
  shownOptions({ ...options, ...EVERY_OPTION }).map(([name, { type, values, completes, text = '' }]) =>
    ({ name, text: text.replaceAll('\n', ' '), takesValue: type === 'string', values, completes }))
