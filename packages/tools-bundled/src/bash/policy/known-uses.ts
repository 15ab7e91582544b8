import { insidePath, type Location } from '../../model/paths.ts'
import { type ExpansionPart, isPlain, READ_ONLY_BUILTINS, type Word, wordList } from '../parse/plan.ts'
import { awkUse, findUse, jqUse, sedUse, testUse } from './expression-uses.ts'
import { gitUse } from './git.ts'
import { knownUse, type KnownUse } from './option-list.ts'
import { READ_ONLY_PROGRAMS, SYSTEM_PROGRAMS } from './read-only-programs.ts'

/** Allows listing an archive: `t` and decompression letters, `f`, then the file. A colon would name a remote host. */
function tarUse([form, archive, ...members]: readonly Word[]): KnownUse | undefined {
  if (form === undefined || archive === undefined || ![form, archive, ...members].every(isPlain)) return undefined
  const isList = /^-?[tvzjJ]*f$/.test(form.text) && form.text.includes('t')
  if (!isList || archive.text.includes(':') || archive.text.startsWith('-')) return undefined
  return members.every(({ text }) => !text.startsWith('-')) ? { paths: [archive] } : undefined
}

/** Allows only /dev/null as a file. */
const teeUse = (args: readonly Word[]): KnownUse | undefined =>
  args.every((word) => isPlain(word) && word.text === '/dev/null') ? { paths: [] } : undefined

/** Programs that print their version before they do anything else, with the options for it. */
const VERSIONS: ReadonlyMap<string, readonly string[]> = new Map<string, readonly string[]>([
  ...wordList('python python3 make gcc g++ clang cmake ruby perl php sqlite3 jq rg tar')
    .map((name): [string, readonly string[]] => [name, ['--version']]),
  ['node', ['--version', '-v']], ['npm', ['--version', '-v']], ['deno', ['--version']], ['bun', ['--version']],
  ['java', ['-version', '--version']],
])

const versionUse = (name: string, args: readonly Word[]): KnownUse | undefined =>
  args.length === 1 && isPlain(args[0]!) && VERSIONS.get(name)?.includes(args[0]!.text) === true
    ? { paths: [] }
    : undefined

/** A program name without a slash, which is looked up in PATH. */
const BARE = /^[\w.+-]*$/

/** Shell builtins that print information. */
function builtinUse(name: string, args: readonly Word[]): KnownUse | undefined {
  const names = name === 'command' ? args.slice(1) : args
  const isKnown = args.every(isPlain) && names.every(({ text }) => BARE.test(text) && !text.startsWith('-'))
  if (!isKnown) return undefined
  if (name === 'command') return names.length > 0 && /^-[vV]$/.test(args[0]!.text) ? { paths: [] } : undefined
  return (name === 'history') === (names.length === 0) || name === 'help' ? { paths: [] } : undefined
}

/** Where a command runs. */
export interface CommandContext extends Location {
  /** Canonical paths of folders that tools may never write. */
  readonly neverWritten?: readonly string[]
  /** All roots of the session. `roots` has only the one in which the command starts. */
  readonly openRoots?: readonly string[]
  /** Variables of enclosing loops whose values are file names inside the workspace. */
  readonly names?: ReadonlySet<string>
}

/**
 * Whether a word names a file inside the workspace. A pattern may not be absolute or contain `..`. Expansions are
 * checked again when they run. Only those that usually produce file names are accepted here, so that all others require
 * approval.
 */
export function wordInside({ text, pattern, expansion }: Word, context: CommandContext): boolean {
  if (expansion !== undefined) return expansion.parts.every((part) => expansionInside(part, context))
  if (pattern === undefined) return insidePath(text, context) !== undefined
  return !text.startsWith('/') && !text.split('/').includes('..') && insidePath('.', context) !== undefined
}

/** Programs that print file names of the workspace. */
const LISTING: ReadonlySet<string> = new Set(['git', 'find', 'ls', 'rg', 'grep'])

function expansionInside(part: ExpansionPart, { names }: CommandContext): boolean {
  switch (part.kind) {
    case 'text':
      return !part.text.startsWith('/') && !part.text.split('/').includes('..')
    case 'variable':
      return names?.has(part.name) === true
    case 'output': {
      const [step] = part.steps
      return part.steps.length === 1 && step?.kind === 'run' && LISTING.has(step.stages[0]!.words[0]!.text)
    }
    case 'status':
      return false
  }
}

/** A read-only use of a program inside the workspace. */
export interface ReadOnlyUse extends KnownUse {
  /** The approval key: the program and its subcommand. */
  readonly key: string
  /** Keys of the programs that it runs. They must be allowed too. */
  readonly alsoRuns?: readonly string[]
  /** Reads more than the workspace, such as other processes. */
  readonly outside?: true
  /** It is `git`, and opens the repository of the current folder. */
  readonly opensRepository?: true
  /** Set if stdin becomes arguments of a command, as with `xargs`. */
  readonly stdinArgs?: StdinArgs
}

export interface StdinArgs {
  /** Separated by NUL instead of white space. */
  readonly isNul: boolean
  /** The arguments are files to read. */
  readonly areFiles: boolean
}

type Reader = (args: readonly Word[]) => KnownUse | undefined

const USES: ReadonlyMap<string, Reader> = new Map<string, Reader>([
  ['find', (args) => findUse(args, perFileKey)],
  ['jq', jqUse],
  ['sed', sedUse],
  ['awk', awkUse],
  ['tar', tarUse],
  ['tee', teeUse],
  ['test', testUse],
  ['[', (args) => args.at(-1)?.text === ']' ? testUse(args.slice(0, -1)) : undefined],
  ...Array.from(READ_ONLY_BUILTINS, (name): [string, Reader] => [name, (args) => builtinUse(name, args)]),
])

/** Programs that only read, whatever files of the workspace they are given. */
const PER_FILE_PROGRAMS: ReadonlySet<string> = new Set(
  wordList('grep wc head tail basename dirname file stat du md5sum sha1sum sha256sum'),
)
/** Placeholder for file names that are not yet known. */
const FILE_ARGUMENTS: Word = { text: '', expansion: { parts: [], split: true } }

function perFileKey([program, ...args]: readonly Word[]): string | undefined {
  const name = program?.text ?? ''
  const list = PER_FILE_PROGRAMS.has(name) ? READ_ONLY_PROGRAMS.get(name) : undefined
  // The first operand of grep must not be one of the file names.
  const use = list && knownUse([...args, FILE_ARGUMENTS], list)
  return use && use.paths.every((word) => word === FILE_ARGUMENTS) ? name : undefined
}

function xargsUse(args: readonly Word[]): ReadOnlyUse | undefined {
  const texts = args.map(({ text }) => text)
  let isNul = false
  let at = 0
  // Only numeric values are accepted, because xargs would parse a value that looks like an option differently.
  for (; texts[at]?.startsWith('-') === true; at++) {
    const text = texts[at]!
    if (text === '-0' || text === '--null') isNul = true
    else if (/^(?:-n|-P|--max-args|--max-procs)$/.test(text) && /^\d+$/.test(texts[at + 1] ?? '')) at++
    else if (!/^(?:-r|--no-run-if-empty|-[nP]\d+|--max-(?:args|procs)=\d+)$/.test(text)) return undefined
  }
  const key = args.slice(0, at).every(isPlain) ? perFileKey(args.slice(at)) : undefined
  if (key === undefined) return undefined
  return { key, paths: [], stdinArgs: { isNul, areFiles: READ_ONLY_PROGRAMS.get(key)?.operands !== 'texts' } }
}

/** Programs with read-only uses that are mostly used for something else. */
const MIXED: ReadonlySet<string> = new Set(wordList('awk tar tee env command type help history diff hostname expr'))

/**
 * Whether keys of other uses get the mark `[effects]`, so that a pattern for the read-only uses does not match them.
 */
export const isUsuallyReadOnly = (name: string): boolean =>
  name === 'git' || ((USES.has(name) || READ_ONLY_PROGRAMS.has(name) || SYSTEM_PROGRAMS.has(name)) && !MIXED.has(name))

/**
 * Undefined if the command is not a known read-only use, or reads outside the workspace. `piped`: its input is the
 * output of another command.
 */
export function readOnlyUse(
  [program, ...args]: readonly Word[], context: CommandContext, piped: boolean,
): ReadOnlyUse | undefined {
  const name = program?.text ?? ''
  const use = name === 'xargs' ? (piped ? xargsUse(args) : undefined) : useOf(name, args, context)
  if (use === undefined) return undefined
  const inside = use.paths.every((word) => word.text === '-' || word.text === '/dev/null' || wordInside(word, context))
  return inside ? use : undefined
}

function useOf(name: string, args: readonly Word[], context: CommandContext): ReadOnlyUse | undefined {
  if (name === 'git') {
    const use = gitUse(args, context.folder)
    return use && {
      key: `git ${use.subcommand}`, paths: use.paths, ...(use.split && { split: use.split }),
      ...(use.outside ? { outside: true } : {}), ...(use.opensRepository ? { opensRepository: true } : {}),
    }
  }
  const version = versionUse(name, args)
  if (version !== undefined) return { key: `${name} --version`, paths: [] }
  const system = SYSTEM_PROGRAMS.get(name)
  const list = READ_ONLY_PROGRAMS.get(name) ?? system
  const use = list ? knownUse(args, list) : USES.get(name)?.(args)
  return use && { ...use, key: name === '[' ? 'test' : name, ...(system && { outside: true }) }
}
