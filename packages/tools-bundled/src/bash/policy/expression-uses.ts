import { isPlain, isVariadic, type Word, wordList } from '../parse/plan.ts'
import { knownUse, type KnownUse, type OptionList } from './option-list.ts'

const SED: OptionList = {
  flags: ['-n', '-E', '-r', '-s', '-u', '-z', '--quiet', '--silent', '--regexp-extended'],
  values: { '-e': 'text', '--expression': 'text' },
  operands: 'text-then-paths',
  firstGivenBy: ['-e', '--expression'],
}

/** Undefined unless every sed command only prints, deletes or changes lines. Others access files or run programs. */
export function sedUse(args: readonly Word[]): KnownUse | undefined {
  const use = knownUse(args, SED)
  return use?.scripts !== undefined && use.scripts.every(isReadOnlyScript) ? use : undefined
}

const LINE = /^(?:\d+(?:~\d+)?|\$)/
const PLAIN_COMMAND = /^(?:[pPdDnNgGhHxlz=]|[qQ] ?\d*)/
const FLAGS = /^[gpiImM0-9]*/

/** Parses sed commands with their addresses, and rejects everything it does not know. */
function isReadOnlyScript(script: string): boolean {
  let rest = script
  while (rest !== '') {
    const command = afterAddresses(rest.replace(/^[\s;]+/, ''))
    if (command === undefined) return false
    const after = command === '' ? '' : afterCommand(command)
    if (after === undefined || !/^ *(?:$|[;\n])/.test(after)) return false
    rest = after.replace(/^ *[;\n]?/, '')
  }
  return true
}

function afterAddresses(text: string): string | undefined {
  const first = afterAddress(text)
  if (first === undefined) return undefined
  if (first === text) return first
  if (!first.startsWith(',')) return first.replace(/^ *!? */, '')
  const bound = first.slice(1)
  const second = /^[+~]\d+/.test(bound) ? bound.replace(/^[+~]\d+/, '') : afterAddress(bound)
  return second === undefined || second === bound ? undefined : second.replace(/^ *!? */, '')
}

/** Skips an address. Returns the same string if there is none. */
function afterAddress(text: string): string | undefined {
  const line = LINE.exec(text)
  if (line !== null) return text.slice(line[0].length)
  if (!text.startsWith('/')) return text
  const expression = upTo('/', text.slice(1))
  return expression && isPlainExpression(expression.part) ? expression.rest.replace(/^[IM]*/, '') : undefined
}

function afterCommand(text: string): string | undefined {
  const plain = PLAIN_COMMAND.exec(text)
  if (plain !== null) return text.slice(plain[0].length)
  const name = text[0]!
  const delimiter = text[1] ?? ''
  if ((name !== 's' && name !== 'y') || !/^[/|#,:@!%+]$/.test(delimiter)) return undefined
  const expression = upTo(delimiter, text.slice(2))
  const replacement = expression && isPlainExpression(expression.part) ? upTo(delimiter, expression.rest) : undefined
  return name === 's' ? replacement?.rest.replace(FLAGS, '') : replacement?.rest
}

/** Splits at the next unescaped delimiter. */
function upTo(delimiter: string, text: string): { readonly part: string; readonly rest: string } | undefined {
  for (let index = 0; index < text.length; index++) {
    if (text[index] === '\n') return undefined
    if (text[index] === '\\') index++
    else if (text[index] === delimiter) return { part: text.slice(0, index), rest: text.slice(index + 1) }
  }
  return undefined
}

/** Inside brackets a delimiter is literal, and implementations differ. Requires brackets to be closed before it. */
const isPlainExpression = (part: string): boolean =>
  !part.replaceAll(/\\[^]/g, '').replaceAll(/\[\^?(?:\[:[a-z]+:\]|[^[\]])+\]/g, '').includes('[')

const AWK: OptionList = { values: { '-F': 'text', '-v': 'text' }, operands: 'text-then-paths' }

/** Awk functions and variables that run programs or access files. */
const EFFECTS = /\b(?:system|getline|close|ARGV|ARGC|ARGIND|PROCINFO|SYMTAB|FUNCTAB|extension|bindtextdomain)\b/
/** Extensions, indirect calls and line continuations. */
const UNSUPPORTED = /@|\\\n|\r/

/** Undefined unless the awk program only computes and prints. */
export function awkUse(args: readonly Word[]): KnownUse | undefined {
  const use = knownUse(args, AWK)
  return use?.scripts !== undefined && use.scripts.every(isReadOnlyProgram) ? use : undefined
}

/**
 * Searches the source, including string literals, so it may reject harmless programs. `>` and `|` redirect output only
 * inside braces. Before the first brace they are comparisons or part of a regular expression.
 */
function isReadOnlyProgram(program: string): boolean {
  const brace = program.indexOf('{')
  const actions = brace < 0 ? '' : program.slice(brace).replaceAll('||', '').replaceAll('>=', '')
  return !EFFECTS.test(program) && !UNSUPPORTED.test(program) && !/[>|]/.test(actions)
}

const ALONE = '! ( ) , -a -and -daystart -depth -empty -executable -false -ignore_readdir_race -ls -mount -nogroup '
  + '-noleaf -not -nouser -o -or -print -print0 -prune -quit -readable -true -writable -xdev'
const WITH_A_WORD = '-amin -atime -cmin -ctime -gid -group -ilname -iname -inum -ipath -iregex -iwholename -links '
  + '-lname -maxdepth -mindepth -mmin -mtime -name -newermt -path -perm -printf -regex -regextype -size -type -uid '
  + '-used -user -wholename -xtype'

/** Read-only tests and actions of `find`, with their number of arguments. */
const EXPRESSIONS: ReadonlyMap<string, number> = new Map([
  ...wordList(ALONE).map((name) => [name, 0] as const), ...wordList(WITH_A_WORD).map((name) => [name, 1] as const),
])
/** Less than a number, as in `-mtime -7`. */
const NEGATIVE = /^-\d+[a-zA-Z]?$/
const PATH_EXPRESSIONS: ReadonlySet<string> = new Set(wordList('-newer -anewer -cnewer -samefile'))

/** Returns the key of a command that runs on file names. Undefined if it is not read-only. */
type PerFileKey = (words: readonly Word[]) => string | undefined

interface FindUse extends KnownUse {
  /** Keys of the programs that `find` runs. */
  readonly alsoRuns: readonly string[]
}

/** The paths that `find` reads. Undefined if it may do more than read. */
export function findUse(args: readonly Word[], perFileKey: PerFileKey): FindUse | undefined {
  const first = args.findIndex(({ text }) => /^[-(),!]/.test(text))
  const starts = first < 0 ? args : args.slice(0, first)
  const expression = first < 0 ? [] : args.slice(first)
  const paths = [...starts]
  const alsoRuns: string[] = []
  // Patterns and expansions could become any number of words.
  if (!expression.every(isPlain)) return undefined
  for (let index = 0; index < expression.length; index++) {
    const { text } = expression[index]!
    if (text === '-exec') {
      const command = execCommand(expression.slice(index + 1))
      const key = isNegated(expression[index - 1]) ? undefined : command && perFileKey(command.words)
      if (key === undefined) return undefined
      alsoRuns.push(key)
      index += command!.taken
      continue
    }
    if (PATH_EXPRESSIONS.has(text)) {
      const path = expression[++index]
      if (path === undefined || path.text.startsWith('-')) return undefined
      paths.push(path)
      continue
    }
    const takes = EXPRESSIONS.get(text)
    if (takes === undefined) return undefined
    index += takes
    const value = takes === 0 ? undefined : expression[index]?.text
    if (value?.startsWith('-') === true && !NEGATIVE.test(value)) return undefined
  }
  // `-exec` can also be a value, as in `-name -exec`. `hardenedFind` would take that for an action.
  return args.filter(({ text }) => text === '-exec').length === alsoRuns.length ? { paths, alsoRuns } : undefined
}

const isNegated = (before: Word | undefined): boolean => before?.text === '!' || before?.text === '-not'

/** The command before `{} +` or `{} ;`. Undefined for all other forms. */
function execCommand(words: readonly Word[]): { readonly words: readonly Word[]; readonly taken: number } | undefined {
  const at = words.findIndex(({ text }) => text.includes('{}') || text === ';' || text === '+')
  const end = words[at + 1]?.text
  return at > 0 && words[at]!.text === '{}' && (end === '+' || end === ';')
    ? { words: words.slice(0, at), taken: at + 2 }
    : undefined
}

/** Excludes symbolic links from `-exec`, because the program would follow them. */
export function hardenedFind(words: readonly Word[]): readonly Word[] {
  return words.flatMap((word, index) =>
    index > 0 && word.text === '-exec' ? [{ text: '!' }, { text: '-type' }, { text: 'l' }, word] : [word])
}

const JQ: OptionList = {
  flags: wordList(
    '-r -c -S -e -n -s -j -M -a --raw-output --compact-output --sort-keys --slurp --null-input --exit-status --tab',
  ),
  operands: 'text-then-paths',
}

export function jqUse(args: readonly Word[]): KnownUse | undefined {
  const use = knownUse(args, JQ)
  return use?.scripts?.every((script) => !/\b(?:import|include|modulemeta)\b/.test(script)) === true ? use : undefined
}

/** Operators whose operand is a file. */
const FILE_TEST = /^-[abcdefghkprsuwxGLNOS]$/
const TEXT_TEST = /^-[nz]$/
const FILE_COMPARISON = /^-(?:nt|ot|ef)$/
const TEXT_COMPARISON = /^(?:=|==|!=|-(?:eq|ne|lt|le|gt|ge))$/

/** Accepts a single test. Each word is an operator, a file or a string. */
export function testUse(args: readonly Word[]): KnownUse | undefined {
  if (args.some(isVariadic)) return undefined
  const [first, ...others] = args
  if (first?.text === '!' && isPlain(first)) return others.length > 0 ? testUse(others) : undefined
  switch (args.length) {
    case 1:
      return first!.text.startsWith('-') ? undefined : { paths: [] }
    case 2:
      return FILE_TEST.test(first!.text) ? { paths: others } : TEXT_TEST.test(first!.text) ? { paths: [] } : undefined
    case 3: {
      const operator = args[1]!.text
      if (FILE_COMPARISON.test(operator)) return { paths: [first!, args[2]!] }
      return TEXT_COMPARISON.test(operator) ? { paths: [] } : undefined
    }
    default:
      return undefined
  }
}
