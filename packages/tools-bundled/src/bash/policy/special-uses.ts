import type { Word } from '../parse/plan.ts'
import { isOpen, isPlain } from '../parse/plan.ts'
import { wordList } from '../parse/word-list.ts'
import { knownUse, type KnownUse, type OptionList } from './option-list.ts'

const JQ: OptionList = {
  flags: wordList('-r -c -S -e -n -s -j -M -a --raw-output --compact-output --sort-keys --slurp --null-input --exit-status --tab'),
  operands: 'text-then-paths',
}

export function jqUse(args: readonly Word[]): KnownUse | undefined {
  const use = knownUse(args, JQ)
  return use?.scripts?.every((script) => !/\b(?:import|include)\b/.test(script)) === true ? use : undefined
}

/** Of these operators, those that say something of a file. */
const FILE_TEST = /^-[abcdefghkprsuwxGLNOS]$/
const TEXT_TEST = /^-[nz]$/
const FILE_COMPARISON = /^-(?:nt|ot|ef)$/
const TEXT_COMPARISON = /^(?:=|==|!=|-(?:eq|ne|lt|le|gt|ge))$/

/** One question, and not several: every word of it is an operator, a file or a text. */
export function testUse(args: readonly Word[]): KnownUse | undefined {
  if (args.some(isOpen)) return undefined
  const [first, ...others] = args
  if (first?.text === '!' && isPlain(first)) return others.length > 0 ? testUse(others) : undefined
  switch (args.length) {
    case 1:
      return first!.text.startsWith('-') ? undefined : { paths: [] }
    case 2:
      return FILE_TEST.test(first!.text) ? { paths: others } : TEXT_TEST.test(first!.text) ? { paths: [] } : undefined
    case 3: {
      const operator = args[1]!.text
      return FILE_COMPARISON.test(operator) ? { paths: [first!, args[2]!] } : TEXT_COMPARISON.test(operator) ? { paths: [] } : undefined
    }
    default:
      return undefined
  }
}

/** Lists an archive: `t` with letters that say how, `f`, then the file. A colon would name another machine. */
export function tarUse([form, archive, ...members]: readonly Word[]): KnownUse | undefined {
  if (form === undefined || archive === undefined || ![form, archive, ...members].every(isPlain)) return undefined
  const isList = /^-?[tvzjJ]*f$/.test(form.text) && form.text.includes('t')
  if (!isList || archive.text.includes(':') || archive.text.startsWith('-')) return undefined
  return members.every(({ text }) => !text.startsWith('-')) ? { paths: [archive] } : undefined
}

/** Writes nowhere but to the next command. */
export const teeUse = (args: readonly Word[]): KnownUse | undefined =>
  args.every((word) => isPlain(word) && word.text === '/dev/null') ? { paths: [] } : undefined

/** Programs that say their version before they look at anything else, with the words that ask for it. */
const VERSIONS: ReadonlyMap<string, readonly string[]> = new Map<string, readonly string[]>([
  ...wordList('python python3 make gcc g++ clang cmake ruby perl php sqlite3 jq rg tar').map((name): [string, readonly string[]] => [name, ['--version']]),
  ['node', ['--version', '-v']], ['npm', ['--version', '-v']], ['deno', ['--version']], ['bun', ['--version']], ['java', ['-version', '--version']],
])

export const versionUse = (name: string, args: readonly Word[]): KnownUse | undefined =>
  args.length === 1 && isPlain(args[0]!) && VERSIONS.get(name)?.includes(args[0]!.text) === true ? { paths: [] } : undefined

/** A name as it is searched for in the folders of programs. One with a slash is a path. */
const BARE = /^[\w.+-]*$/

/** Builtins of the shell that tell something of a name. */
export function builtinUse(name: string, args: readonly Word[]): KnownUse | undefined {
  const names = name === 'command' ? args.slice(1) : args
  const isKnown = args.every(isPlain) && names.every(({ text }) => BARE.test(text) && !text.startsWith('-'))
  if (!isKnown) return undefined
  if (name === 'command') return names.length > 0 && /^-[vV]$/.test(args[0]!.text) ? { paths: [] } : undefined
  return (name === 'history') === (names.length === 0) || name === 'help' ? { paths: [] } : undefined
}
