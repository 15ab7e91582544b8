import { wordList } from '../parse/plan.ts'

/**
 * Programs that are mostly used to only read. A wrong guess does no harm: the line runs behind a wall in which nothing
 * can be changed. So these lists only save a question.
 */
const READING_PROGRAMS: ReadonlySet<string> = new Set(wordList(
  'ls cat head tail wc nl tac rev cut sort uniq comm cmp diff sdiff diff3 paste column fold fmt expand unexpand join '
    + 'tr pr stat file du df tree realpath readlink basename dirname md5sum sha1sum sha224sum sha256sum sha384sum '
    + 'sha512sum b2sum cksum sum base64 base32 xxd od hexdump strings zcat bzcat xzcat zgrep less more grep egrep '
    + 'fgrep rg ag ack find sed awk gawk mawk jq yq echo printf true false : seq expr test [ sleep date cal uname hostname '
    + 'whoami id groups nproc arch free uptime locale which whereis type command help history man pwd cd read shift '
    + 'xargs tee tar unzip zipinfo make getconf iconv numfmt factor shuf tsort break continue exit return',
))

/** Programs that report on other processes. They ask, and an approval of the name covers these words. */
export const PROCESS_PROGRAMS: ReadonlyMap<string, RegExp> = new Map([
  ['ps', /^-?[a-zA-Z]+$/], ['pgrep', /^(?:-[acflnovx]+|[\w.]+)$/], ['lsof', /^(?:-i|-[nPtlbR]+|(?:tcp|udp)?:\d+)$/i],
])

/** Programs of which some subcommands only read. */
const SUBCOMMANDS: ReadonlyMap<string, ReadonlySet<string>> = new Map(Object.entries({
  npm: 'ls list ll root prefix bin explain why query', pnpm: 'ls list why root', yarn: 'list why',
  pip: 'list show freeze', pip3: 'list show freeze', cargo: 'tree metadata', go: 'list version env vet', rustup: 'show',
  brew: 'list info',
  git: 'status diff log show shortlog rev-parse rev-list ls-files ls-tree merge-base describe count-objects blame '
    + 'annotate grep cat-file for-each-ref show-ref name-rev cherry version help check-ignore check-attr check-mailmap '
    + 'diff-tree diff-index diff-files whatchanged range-diff var verify-commit verify-tag show-branch branch tag '
    + 'remote reflog stash worktree config submodule symbolic-ref notes bisect',
}).map(([name, list]) => [name, new Set(wordList(list))]))

type Writes = (args: readonly string[]) => boolean

const operands = (args: readonly string[]): readonly string[] => args.filter((arg) => !/^-./.test(arg))
const has = (form: RegExp): Writes => (args) => args.some((arg) => form.test(arg))
const more = (count: number): Writes => (args) => operands(args).length > count
/** Unless the words after the subcommand begin with one of these, or there are none. */
const unless = (form: RegExp): Writes => ([, first = '']) => first !== '' && !form.test(first)

/** Options of `git branch` and `git tag` with which a name is a pattern or a commit. */
const LISTS = /^(?:-l|-n|--list|--(?:no-)?contains|--(?:no-)?merged|--points-at|--sort|--format)/

/** What obviously writes. Everything else is found when the wall stops it. */
const WRITES: ReadonlyMap<string, Writes> = new Map<string, Writes>([
  ['sed', has(/^(?:-[a-zA-Z]*i|--in-place)/)], ['sort', has(/^(?:-[a-zA-Z]*o|--output)/)], ['tree', has(/^-o/)],
  ['find', has(/^-(?:delete|execdir|ok|okdir|fprint.*|fls)$/)], ['awk', has(/^(?:-i|--include)/)],
  ['tee', has(/^(?!-|\/dev\/(?:null|stdout|stderr)$)/)], ['uniq', more(1)], ['hostname', more(0)],
  ['xxd', (args) => has(/^-r/)(args) || more(1)(args)], ['date', has(/^(?:-s|--set|[^-+])/)], ['less', has(/^-[oO]/)],
  ['make', (args) => !has(/^(?:-n|--dry-run|--just-print)$/)(args)],
  ['unzip', (args) => !has(/^-[a-zA-Z]*[lpvtZz]/)(args)],
  ['tar', (args) => !has(/^--list$/)(args) && !/^-?[a-zA-Z]*t/.test(args[0] ?? '')],
  ['command', (args) => !/^-[vV]$/.test(args[0] ?? '')], ['go env', has(/^-[wu]$/)],
  ['git branch', (args) => (more(1)(args) && !has(LISTS)(args))
    || has(/^-[dDmMcCu]|^--(?:delete|move|copy|edit|set-up|unset|track)/)(args)],
  ['git tag', (args) => (more(1)(args) && !has(LISTS)(args))
    || has(/^-[damsfuFe]|^--(?:delete|annotate|sign|force|edit|file|message)/)(args)],
  ['git config', (args) => has(/^--(?:add|unset|replace|rename|remove|edit|file|blob)|^-[ef]$/)(args)
    || (!has(/^(?:-l|--list|--get.*)$/)(args) && !/^(?:list|get)$/.test(args[1] ?? '') && more(2)(args))],
  ['git remote', unless(/^(?:-v|--verbose|get-url)$/)], ['git submodule', unless(/^(?:status|summary)$/)],
  ['git reflog', unless(/^(?:show|list|exists|-|HEAD|[a-z]+\/)/)], ['git notes', unless(/^(?:list|show)$/)],
  ['git stash', ([, first = '']) => !/^(?:list|show)$/.test(first)],
  ['git worktree', ([, first = '']) => first !== 'list'],
  ['git symbolic-ref', (args) => has(/^(?:-d|-m|--delete)$/)(args) || more(2)(args)],
  ['git bisect', ([, first = '']) => !/^(?:log|view|visualize)$/.test(first)],
])

/** Global options of git without an effect, and `-C` with its folder. */
const GIT_OPTIONS = /^(?:--no-pager|-P|--no-optional-locks|--literal-pathspecs)$/

/** Where the subcommand of git stands. */
export function gitSubcommandAt(args: readonly string[]): number {
  let at = 0
  while (GIT_OPTIONS.test(args[at] ?? '') || args[at] === '-C') at += args[at] === '-C' ? 2 : 1
  return at
}

/**
 * The key of all uses of a program that seem to only read: its name, and its subcommand if it has some. Undefined for a
 * use that seems to do more.
 */
export function readingKey(program: string, args: readonly string[]): string | undefined {
  const [only = ''] = args.length === 1 ? args : []
  if (/^(?:--version|-version|--help)$/.test(only) || (/^-[vV]$/.test(only) && VERSION_V.has(program))) {
    return program === 'git' ? 'git version' : `${program} ${only}`
  }
  const list = SUBCOMMANDS.get(program)
  if (list === undefined) {
    const reads = READING_PROGRAMS.has(program) && WRITES.get(program)?.(args) !== true
    return reads ? program === '[' ? 'test' : program : undefined
  }
  const at = program === 'git' ? gitSubcommandAt(args) : 0
  const key = `${program} ${args[at]}`
  return list.has(args[at] ?? '') && WRITES.get(key)?.(args.slice(at)) !== true ? key : undefined
}

/** Programs that print their version with `-v` or `-V`. */
const VERSION_V: ReadonlySet<string> = new Set(wordList('node npm pnpm yarn php ruby perl python python3 tsc'))

/**
 * Programs that only read whatever files they are given, as long as they are given no options. Without a wall, these
 * alone run unasked.
 */
export const BARE_PROGRAMS: ReadonlySet<string> = new Set(wordList(
  'ls cat head tail wc nl tac rev sort grep echo printf true false seq sleep basename dirname pwd whoami id uname arch '
    + 'groups nproc stat du cmp comm md5sum sha1sum sha256sum sha512sum cksum',
))

/** Programs with read-only uses that are mostly used for something else. */
const MIXED: ReadonlySet<string> = new Set(wordList(
  'awk gawk mawk tar unzip tee make command type help history diff hostname expr cd read shift break continue exit '
    + 'return npm pnpm yarn pip pip3 cargo go rustup brew man',
))

/** Whether keys of exact words get the mark `[effects]`: a pattern for the read-only uses does not match them. */
export const isUsuallyReadOnly = (name: string): boolean =>
  (READING_PROGRAMS.has(name) || SUBCOMMANDS.has(name) || PROCESS_PROGRAMS.has(name)) && !MIXED.has(name)
