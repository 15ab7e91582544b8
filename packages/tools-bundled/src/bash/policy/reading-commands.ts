import { type AffectedPath, SENSITIVE } from '@bulkhead/contract'
import { absolute, insidePath, type Location } from '../../model/paths.ts'
import { isPlain, type LineParts, type Word, wordList } from '../parse/plan.ts'
import { BARE_PROGRAMS, readingKey } from './reading-programs.ts'
import { innermost, unwrap } from './wrappers.ts'

/** Where a command runs. */
export interface CommandContext extends Location {
  /** Canonical paths of folders that tools may never write. */
  readonly neverWritten?: readonly string[]
  /** All roots of the session. `roots` has only the one in which the command starts. */
  readonly openRoots?: readonly string[]
  /** The beginning of a file in the workspace. */
  readonly readStart?: ((path: string) => string | undefined) | undefined
}

/** Variables that every command has in its environment. None of them is secret. */
const ENVIRONMENT: ReadonlySet<string> =
  new Set(wordList('HOME PATH PWD OLDPWD USER LOGNAME LANG TERM TZ RANDOM SECONDS'))
const MAX_DEPTH = 8
/** Programs that run the commands in their arguments. */
const RUNNERS: ReadonlySet<string> = new Set(['xargs', 'find'])

/** Whether the redirections and variables of a line stay inside the workspace, and write nothing. */
export const streamsRead = ({ inputs, outputs, variables }: LineParts, context: CommandContext): boolean =>
  outputs.length === 0 && !inputs.some((file) => leavesWorkspace(file, context))
  && variables.every((name) => ENVIRONMENT.has(name))

/** The keys of a command that seems to only read inside the workspace, and of those that it runs. */
export function readingKeys(words: readonly Word[], context: CommandContext, depth = 0): readonly string[] | undefined {
  const inner = innermost(words)
  const [program, ...args] = inner
  const name = program?.text ?? ''
  const key = depth > MAX_DEPTH ? undefined : readingKey(name, args.map(({ text }) => text))
  if (key === undefined || operandsOf(inner).some((word) => leavesWorkspace(word.text, context))) return undefined
  const wrapped = RUNNERS.has(name) ? unwrap(inner) : undefined
  if (wrapped?.unread !== undefined) return undefined
  const runs = (wrapped?.inner ?? []).map((command) => readingKeys(command.words, context, depth + 1))
  if (!runs.every((keys) => keys !== undefined)) return undefined
  return name === 'xargs' ? runs.flat() : [key, ...runs.flat()]
}

/** Whether a command is simple enough to run unasked without a wall: a simple program, literal words and no options. */
export const isBare = (words: readonly Word[]): boolean =>
  BARE_PROGRAMS.has(innermost(words)[0]?.text ?? '') && words.every((word) => isPlain(word) && !/^-./.test(word.text))

/** Programs that only print their words. */
const PRINTING: ReadonlySet<string> =
  new Set(wordList('echo printf expr seq tr true false sleep basename dirname read man help'))
/** Programs whose first operand is an expression, unless an option gives it. */
const EXPRESSION_FIRST: ReadonlySet<string> =
  new Set(wordList('grep egrep fgrep zgrep rg ag ack sed awk gawk mawk jq yq'))
const GIVES_EXPRESSION = /^(?:-[a-zA-Z]*e|--(?:regexp|expression|files|type-list))/

/** The words that may name a file: operands, and values of options. */
export function operandsOf(words: readonly Word[]): readonly Word[] {
  const [program, ...args] = words
  const name = program?.text ?? ''
  if (PRINTING.has(name)) return args.filter(({ pattern }) => pattern !== undefined)
  const isOption = ({ text }: Word): boolean => /^-./.test(text)
  const given = args.findIndex((word) => isOption(word) && GIVES_EXPRESSION.test(word.text))
  const expression = !EXPRESSION_FIRST.has(name) ? -1
    : given < 0 ? args.findIndex((word) => !isOption(word)) : args[given]!.text.endsWith('e') ? given + 1 : -1
  return args.filter((_, index) => index !== expression).flatMap((word): readonly Word[] => {
    const value = isOption(word) ? /^(?:--[\w-]+=|-[a-zA-Z](?=[/~.]))(.*)$/s.exec(word.text)?.[1] : word.text
    return value === undefined || value === '' ? [] : [{ ...word, text: value }]
  })
}

/** Devices that hold nothing. */
const DEVICE = /^\/dev\/(?:null|zero|full|random|urandom|stdin|stdout|stderr|fd\/\d+)$/

/** Whether a word names a place outside the workspace, as far as it can be told. */
export function leavesWorkspace(text: string, context: Location): boolean {
  const path = text.replaceAll(/["']/g, '')
  if (/^~|\$\{?HOME\b/.test(path)) return true
  if (!path.startsWith('/') && !path.split('/').includes('..')) return false
  return !DEVICE.test(path) && insidePath(path, context) === undefined
}

/** Programs that read the files that they are given, and no others. */
const FILE_PROGRAMS: ReadonlySet<string> = new Set(wordList(
  'ls cat head tail wc nl tac rev sort cut uniq comm cmp diff paste column fold stat file du tree md5sum sha1sum '
    + 'sha256sum sha512sum cksum base64 xxd od hexdump less more test [',
))
/** Options after which the words are still what they seem. Of most programs, every word counts as a file. */
const PLAIN_OPTION = /^-[a-zA-Z0-9]*$/
const PLAIN_OPTIONS: ReadonlyMap<string, RegExp> = new Map([
  ['grep', /^-[cEFhHiIlLnoPqrRsvwxz]+$/], ['egrep', /^-[chHiIlLnoqrRsvwxz]+$/], ['fgrep', /^-[chHiIlLnoqrRsvwxz]+$/],
  ['rg', /^-[cFiIlnNovwx]+$/], ['find', /^-(?!L$|H$|follow|files0|.?newer|samefile|exec)[a-z0-9]+$/],
])
/** Programs that read whole folders. */
const DEEP: ReadonlySet<string> = new Set(wordList('find rg du tree diff'))
const RECURSIVE = /^-[a-zA-Z]*[rR]/

/** The files that a command reads, undefined among them if it may read more than its words name. */
export function filesOf(words: readonly Word[], context: CommandContext): readonly (AffectedPath | undefined)[] {
  const inner = innermost(words)
  const [program, ...args] = inner
  const name = program?.text ?? ''
  if (PRINTING.has(name) && args.every(isPlain)) return []
  const plain = PLAIN_OPTIONS.get(name) ?? (FILE_PROGRAMS.has(name) ? PLAIN_OPTION : undefined)
  const isPlainOption = ({ text }: Word): boolean => !text.startsWith('-') || plain?.test(text) === true
  const isKnown = plain !== undefined && args.every((word) => isPlain(word) && isPlainOption(word))
  const isSearch = name === 'ls' || name.endsWith('grep')
  const below = DEEP.has(name) || (isSearch && args.some(({ text }) => RECURSIVE.test(text)))
  // Only the first words of `find` are files.
  const end = name === 'find' && isKnown ? inner.findIndex(({ text }) => /^[-(!]/.test(text)) : -1
  const named = operandsOf(end < 0 ? inner : inner.slice(0, end)).map(({ text }) => text)
    .filter((text) => text !== '-' && !DEVICE.test(text))
  const isHere = named.length === 0 && (below || name === 'ls')
  const found = (isHere ? ['.'] : named).map((path) => affected(path, below, context))
  if (isKnown) return found
  // The words of others are looked at for names of credentials only.
  return [undefined, ...found.filter((one) => one && SENSITIVE.find(one.path, context.workspace) !== undefined)]
}

/** Undefined for paths with `..`, because a symbolic link before it changes the target. */
export function affected(path: string, below: boolean, context: CommandContext): AffectedPath | undefined {
  const inside = path.split('/').includes('..') ? undefined : insidePath(path, context)
  if (inside === undefined) return undefined
  return { path: absolute(context.workspace, inside), below }
}

/** The whole workspace, for files that are not known. */
export const everything = ({ workspace, openRoots = [] }: CommandContext): readonly AffectedPath[] =>
  [workspace, ...openRoots].map((path) => ({ path, below: true }))
