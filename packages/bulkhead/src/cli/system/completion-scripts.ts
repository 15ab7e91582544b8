import type { Completed } from '../command.ts'

export type Choice = readonly [name: string, text: string]

/** What a shell offers for a word. Without any: nothing. */
interface Words {
  readonly choices?: readonly Choice[]
  readonly values?: readonly string[] | undefined
  readonly completes?: Completed | undefined
}

/** What follows a command, or a subcommand of it. */
export interface Offer {
  readonly command: string
  readonly subcommand: string | undefined
  readonly options: readonly (Words & { readonly name: string; readonly text: string; readonly takesValue: boolean })[]
  readonly operand: Words
}

export interface Completion {
  readonly commands: readonly Choice[]
  readonly offers: readonly Offer[]
}

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`
const names = (kind: Exclude<Completed, 'folder' | 'file'>): string => `$(bulkhead completion --names ${kind} 2>/dev/null)`
const listOf = ({ choices, values = [] }: Words): readonly Choice[] =>
  choices ?? values.map((value): Choice => [value, ''])

const patternOf = ({ command, subcommand }: Offer): string =>
  subcommand === undefined ? `'${command} '*` : `'${command} ${subcommand}'`
const specificFirst = (offers: readonly Offer[]): readonly Offer[] =>
  [...offers.filter(({ subcommand }) => subcommand), ...offers.filter(({ subcommand }) => subcommand === undefined)]

/**
 * The end of the function in bash and zsh: offers options for a word that starts with a dash, otherwise arguments. The
 * more specific cases come first.
 */
function lastCases(
  offers: readonly Offer[], word: string, commands: string,
  of: Readonly<Record<'options' | 'operand', (one: Offer) => string>>,
): string {
  const cases = (done: (one: Offer) => string): string => specificFirst(offers)
    .map((one) => `      ${patternOf(one)}) ${done(one)} ;;`).join('\n')
  return `  if [[ "${word}" == -* ]]; then
    case "$place" in
${cases(of.options)}
    esac
  else
    case "$place" in
      'help '*) ${commands} ;;
${cases(of.operand)}
    esac
  fi`
}

/** One case for each option that takes a value. Options of the same name in subcommands are equal. */
function valueCases(offers: readonly Offer[], action: (words: Words) => string): readonly string[] {
  const cases = new Map(offers.flatMap(({ command, options }) => options.filter(({ takesValue }) => takesValue)
    .map((option) => [`'${command} --${option.name}'`, action(option)] as const)))
  const same = Map.groupBy(cases, ([, done]) => done)
  return [...same].map(([done, patterns]) => `    ${patterns.map(([pattern]) => pattern).join('|')}) ${done} ;;`)
}

function bash({ commands, offers }: Completion): string {
  const offer = (words: string): string => `_bulkhead_words "${words}"`
  const action = (words: Words): string => {
    if (words.completes === 'folder') return '_bulkhead_paths -d'
    if (words.completes === 'file') return '_bulkhead_paths -f'
    if (words.completes !== undefined) return offer(names(words.completes))
    return offer(listOf(words).map(([name]) => name).join(' '))
  }
  const all = commands.map(([name]) => name).join(' ')
  return `# bash completion for bulkhead. Load it with: source <(bulkhead completion bash)
_bulkhead_words() { COMPREPLY=($(compgen -W "$1" -- "$word")); }
_bulkhead_paths() { local IFS=$'\\n'; compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen "$1" -- "$word")); }
_bulkhead() {
  local word="\${COMP_WORDS[COMP_CWORD]}" before="\${COMP_WORDS[COMP_CWORD-1]}" place="\${COMP_WORDS[1]} "
  COMPREPLY=()
  if (( COMP_CWORD == 1 )); then _bulkhead_words "${all} --help --version"; return; fi
  if (( COMP_CWORD > 2 )); then place="$place\${COMP_WORDS[2]}"; fi
  case "\${COMP_WORDS[1]} $before" in
${valueCases(offers, (words) => `${action(words)}; return`).join('\n')}
  esac
${lastCases(offers, '$word', offer(all), {
  options: ({ options }) => offer(options.map(({ name }) => `--${name}`).join(' ')),
  operand: ({ operand }) => action(operand),
})}
}
complete -F _bulkhead bulkhead
`
}

function zsh({ commands, offers }: Completion): string {
  const described = (choices: readonly Choice[], isOption = false): string => {
    const words = choices.map(([name, text]) => quoted(text === '' ? name : `${name}:${text}`)).join(' ')
    return `found=(${words}); _describe ${isOption ? '-o option' : 'value'} found`
  }
  const action = (words: Words): string => {
    if (words.completes === 'folder') return '_files -/'
    if (words.completes === 'file') return '_files'
    if (words.completes !== undefined) return `found=(\${(f)"${names(words.completes)}"}); compadd -a found`
    return listOf(words).length === 0 ? ':' : described(listOf(words))
  }
  return `#compdef bulkhead
# zsh completion for bulkhead. Put it into a folder of your fpath, as _bulkhead.
_bulkhead() {
  local -a found
  local place="$words[2] "
  if (( CURRENT == 2 )); then ${described(commands)}; return; fi
  if (( CURRENT > 3 )); then place="$place$words[3]"; fi
  case "$words[2] $words[CURRENT-1]" in
${valueCases(offers, (words) => `${action(words)}; return`).join('\n')}
  esac
${lastCases(offers, '$words[CURRENT]', described(commands), {
  options: ({ options }) => described(options.map(({ name, text }): Choice => [`--${name}`, text]), true),
  operand: ({ operand }) => action(operand),
})}
}
if [ "$funcstack[1]" = _bulkhead ]; then _bulkhead "$@"; else compdef _bulkhead bulkhead; fi
`
}

const FIRST = "-n 'test (count (commandline -opc)) -eq 1'"

function fish({ commands, offers }: Completion): string {
  const at = ({ command, subcommand = '', operand }: Offer): string => {
    const place = `__bulkhead_at ${command} ${subcommand}`.trimEnd()
    return `-n ${quoted(operand.choices ? `${place}; and test (count (commandline -opc)) -eq 2` : place)}`
  }
  const argument = (words: Words): string => {
    if (words.completes === 'folder') return `-x -a '(__fish_complete_directories (commandline -ct))'`
    if (words.completes === 'file') return '-r -F'
    if (words.completes !== undefined) return `-x -a '${names(words.completes).slice(1)}'`
    return `-x -a ${quoted(listOf(words).map(([name]) => name).join(' '))}`
  }
  const choose = (condition: string, choices: readonly Choice[]): readonly string[] =>
    choices.map(([name, text]) => `complete -c bulkhead ${condition} -a ${name} -d ${quoted(text)}`)
  const lines = offers.flatMap((offer) => [
    ...offer.options.map((option) => {
      const value = option.takesValue ? ` ${argument(option)}` : ''
      return `complete -c bulkhead ${at(offer)} -l ${option.name}${value} -d ${quoted(option.text)}`
    }),
    ...(offer.operand.completes === undefined
      ? choose(at(offer), listOf(offer.operand))
      : [`complete -c bulkhead ${at(offer)} ${argument(offer.operand)}`]),
  ])
  return `# fish completion for bulkhead. Put it into ~/.config/fish/completions/bulkhead.fish
function __bulkhead_at
  set -l given (commandline -opc)
  set -l length (math (count $argv) + 1)
  test (count $given) -ge $length; and test "$given[2..$length]" = "$argv"
end
complete -c bulkhead -f
${[...choose(FIRST, commands), ...choose("-n '__bulkhead_at help'", commands), ...lines].join('\n')}
`
}

/** The script of each shell. */
export const SCRIPTS = { bash, zsh, fish } as const
