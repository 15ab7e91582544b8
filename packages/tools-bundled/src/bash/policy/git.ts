import type { Repository } from '../../model/git-repository.ts'
import { refusedSetting } from '../../model/git-settings.ts'
import { isPlain, type Word, wordList } from '../parse/plan.ts'
import { type KnownUse, knownUse, type OptionList } from './option-list.ts'

const DIFF = '-p -u -s -w -b -z --patch --no-patch --numstat --shortstat --name-only --name-status --summary --cached '
  + '--staged --no-color --check --raw --minimal --patience --histogram --ignore-all-space --ignore-space-change '
  + '--exit-code --quiet --no-renames --merge-base --full-index --compact-summary'
const DIFF_OPTIONAL = '-U -M -C --unified --stat --color --color-words --word-diff --find-renames --abbrev'
const DIFF_VALUES = '--diff-filter -S -G'
const LOG = `${DIFF} --oneline --graph --all --no-decorate --merges --no-merges --first-parent --reverse --follow `
  + '--branches --tags --remotes --date-order --topo-order --abbrev-commit --no-abbrev-commit --left-right --no-walk'
const LOG_OPTIONAL = `${DIFF_OPTIONAL} --decorate --pretty --format`
const LOG_VALUES = `${DIFF_VALUES} -n --max-count --skip --since --after --until --before --author --grep --date -L`

type Shape = Pick<OptionList, 'operands' | 'maxOperands' | 'numbers' | 'separate'>

const reads = (flags: string, optional: string, values: string, shape: Shape): OptionList => ({
  flags: wordList(flags), optional: wordList(optional),
  values: Object.fromEntries(wordList(values).map((name) => [name, 'text'])), checksValues: true, ...shape,
})

const PATHS: Shape = { operands: 'paths' }
const NOTHING: Shape = { operands: 'none' }
/** Subcommands that read revisions do not combine letters as others do. */
const REVISIONS: Shape = { operands: 'paths', separate: true, numbers: true }

/**
 * Read-only uses of `git`. Revisions are treated as paths, since a name that leaves the workspace is neither. Without
 * `git grep`, which follows a link in the place of a folder that the repository knows.
 */
const SUBCOMMANDS: ReadonlyMap<string, OptionList> = new Map([
  ['status', reads(
    '-s -b -z --short --branch --long --show-stash --ahead-behind --no-renames',
    '-u --porcelain --ignored --untracked-files', '', PATHS,
  )],
  ['diff', reads(DIFF, DIFF_OPTIONAL, DIFF_VALUES, REVISIONS)],
  ['log', reads(LOG, LOG_OPTIONAL, LOG_VALUES, REVISIONS)],
  ['show', reads(LOG, LOG_OPTIONAL, LOG_VALUES, REVISIONS)],
  ['shortlog', reads('-s -n -e -sn -ns -sne -nse --all --no-merges', '', '--since', { ...PATHS, separate: true })],
  ['branch', reads(
    '-a -r -v -vv --all --remotes --list --show-current --no-color', '',
    '--sort --format --contains --no-contains --points-at --merged --no-merged', NOTHING,
  )],
  ['tag', reads('-l --list', '-n', '--sort --format --contains --points-at --merged', NOTHING)],
  ['rev-parse', reads(
    '-q --quiet --abbrev-ref --show-toplevel --git-dir --is-inside-work-tree --verify --show-prefix --show-cdup',
    '--short', '', { ...PATHS, separate: true },
  )],
  ['rev-list', reads('--count --all --no-merges --first-parent --left-right', '', '-n --max-count --since', REVISIONS)],
  ['ls-files', reads(
    '-c -d -m -o -s -u -z -t --cached --deleted --modified --others --stage --unmerged --exclude-standard '
      + '--error-unmatch --full-name',
    '', '-x --exclude', PATHS,
  )],
  ['ls-tree', reads('-r -d -t -l -z --name-only --full-tree --full-name', '', '', PATHS)],
  ['merge-base', reads('--is-ancestor --all --fork-point', '', '', PATHS)],
  // `--dirty` is excluded, because it runs the filters of the repository.
  ['describe', reads('--tags --always --long --all', '--abbrev', '--match', PATHS)],
  ['remote', reads('-v --verbose', '', '', NOTHING)],
  ['reflog', reads('--all --oneline', '', '-n', { ...REVISIONS, ...NOTHING })],
  ['count-objects', reads('-v -H', '', '', NOTHING)],
  ['blame', reads(
    '-w -e -s -l -t -f -n --porcelain --line-porcelain --show-name --show-number --show-email', '-M -C',
    '-L --since --date', { ...PATHS, separate: true },
  )],
  ['stash list', reads('--oneline', '--format', '-n --date', { ...REVISIONS, ...NOTHING })],
  ['cat-file', reads('-p -t -s -e', '', '', { ...PATHS, separate: true })],
  ['worktree list', reads('-v -z --porcelain --verbose', '', '', NOTHING)],
  ['for-each-ref', reads('', '', '--count --sort --format --points-at --contains --merged', PATHS)],
  ['show-ref', reads(
    '-d -q --head --heads --tags --dereference --verify --quiet', '-s --hash --abbrev', '', PATHS,
  )],
  ['name-rev', reads('--tags --name-only --always', '', '', PATHS)],
  // A second operand would be written.
  ['symbolic-ref', reads('-q --quiet --short', '', '', { ...PATHS, maxOperands: 1 })],
  ['cherry', reads('-v', '--abbrev', '', PATHS)],
  ['version', reads('', '', '', NOTHING)],
  ['config', reads(
    '-l -z --list --name-only --show-origin --show-scope --local --global --system', '',
    '--get --get-all --get-regexp', NOTHING,
  )],
])

/** Subcommands that may read files outside the workspace. */
const OUTSIDE: ReadonlySet<string> = new Set(['config'])
/** Subcommands that have subcommands of their own. */
const TWO_WORD_SUBCOMMANDS: ReadonlySet<string> = new Set(['stash', 'worktree'])

/** Format placeholders that run a program to verify signatures. */
const SIGNATURE = /%G|%\(signature/

/** Global options. */
const HARMLESS: ReadonlySet<string> = new Set(['--no-pager', '-P', '--no-optional-locks'])

export interface GitUse extends KnownUse {
  readonly subcommand: string
  readonly outside: boolean
  /** Whether it opens the repository of the current folder. */
  readonly opensRepository: boolean
}

/**
 * Undefined if git may do more than read. Only the workspace folder is allowed: other folders may be other
 * repositories.
 */
export function gitUse(args: readonly Word[], folder: string): GitUse | undefined {
  const at = subcommandAt(args)
  const words = TWO_WORD_SUBCOMMANDS.has(args[at]?.text ?? '') ? 2 : 1
  const subcommand = args[at]?.text === '--version'
    ? 'version'
    : args.slice(at, at + words).map(({ text }) => text).join(' ')
  const list = SUBCOMMANDS.get(subcommand)
  if (list === undefined || folder !== '.' || args.some((word) => !isPlain(word) || SIGNATURE.test(word.text))) {
    return undefined
  }
  const use = knownUse(args.slice(at + words), list)
  const outside = OUTSIDE.has(subcommand)
  return use && { ...use, subcommand, outside, opensRepository: !outside && subcommand !== 'version' }
}

/** Skips harmless global options and `-C .`. */
function subcommandAt(args: readonly Word[]): number {
  let at = 0
  for (; at < args.length; at++) {
    if (HARMLESS.has(args[at]!.text)) continue
    if (args[at]!.text !== '-C' || args[at + 1]?.text !== '.') break
    at++
  }
  return at
}

/** Options that stop a subcommand from running programs that the repository or a submodule configures. */
const GUARDS: ReadonlyMap<string, readonly string[]> = new Map([
  ['diff', ['--no-ext-diff', '--no-textconv', '--ignore-submodules=dirty']],
  ['log', ['--no-ext-diff', '--no-textconv']],
  ['show', ['--no-ext-diff', '--no-textconv']],
  ['blame', ['--no-textconv']],
  ['status', ['--ignore-submodules=dirty']],
])
/** No value of it is safe: git reads the named file also if an empty name follows, and prints lines of it. */
const REVISIONS_TO_IGNORE = /^blame\.ignorerevsfile$/i

/**
 * Adds options by which a read-only `git` command runs no other program. `options` are those for the repository, and
 * `names` its settings. Guards come after the options of the command, of which the last one holds. Throws InputInvalid
 * if a setting cannot be disabled.
 */
export function hardenedGit(
  words: readonly Word[], { split }: KnownUse, { names, options }: Pick<Repository, 'names' | 'options'>,
): readonly Word[] {
  const at = subcommandAt(words.slice(1)) + 1
  const subcommand = words[at]!
  const refused = subcommand.text === 'blame' ? names.find((name) => REVISIONS_TO_IGNORE.test(name)) : undefined
  if (refused !== undefined) throw refusedSetting(refused)
  const guards = GUARDS.get(subcommand.text)
  const text = (value: string): Word => ({ text: value })
  return [
    ...['git', ...options].map(text), subcommand,
    // Others than these keep their order, which has a meaning for `git rev-parse`.
    ...(guards === undefined ? words.slice(at + 1) : [...split!.options, ...guards.map(text), ...split!.rest]),
  ]
}
