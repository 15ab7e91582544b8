import { meantNames } from '@bulkhead/kit/text'
import { type Command, defineCommand, EVERY_OPTION, type OptionForm, UsageError } from '../command.ts'
import { SCRIPTS, type Choice, type Completion, type Offer } from './completion-scripts.ts'

type CommandTable = ReadonlyMap<string, { readonly summary: string; load(): Promise<Command> }>

const SHELLS = Object.keys(SCRIPTS) as readonly (keyof typeof SCRIPTS)[]

/** The command `completion` for this table of commands. */
export const completionOf = (commands: CommandTable) => defineCommand({
  usage: 'bulkhead completion bash|zsh|fish',
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
function offersOfCommand(name: string, { subcommands, operands = {}, options }: Command): readonly Offer[] {
  const shown = Object.entries<OptionForm>({ ...options, ...EVERY_OPTION }).filter(([, { text }]) => text !== undefined)
    .map(([option, { type, values, completes, text = '' }]) => ({
      name: option, text: text.replaceAll('\n', ' '), takesValue: type === 'string', values, completes,
    }))
  const [operand = {}] = Object.values(operands)
  const whole: Offer = { command: name, subcommand: undefined, options: shown, operand }
  if (subcommands === undefined) return [whole]
  const special = new Set(Object.values(subcommands).flatMap((one) => one.options))
  const { '': alone, ...named } = subcommands
  const choices = Object.entries(named).map(([act, { text }]): Choice => [act, text])
  const within = (own: readonly string[]) => shown.filter((one) => !special.has(one.name) || own.includes(one.name))
  return [
    { ...whole, options: within(alone?.options ?? []), operand: { choices } },
    ...Object.entries(named).map(([act, { options: own }]): Offer => ({ ...whole, subcommand: act, options: within(own) })),
  ]
}
