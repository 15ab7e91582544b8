import { safeOptions } from '../../model/git-settings.ts'
import { isPlain, type Word, wordList } from '../parse/plan.ts'
import { type KnownUse, knownUse, type OptionList } from './option-list.ts'

const DIFF = '-p -u -s -w -b -M -C -z --patch --no-patch --stat --stat= --numstat --shortstat --name-only '
  + '--name-status --summary --cached --staged --color --color= --no-color --word-diff --word-diff= --check --raw '
  + '--minimal --patience --histogram --ignore-all-space --ignore-space-change --exit-code --quiet --no-renames '
  + '--find-renames --merge-base --full-index --abbrev --abbrev= --compact-summary --color-words'
const DIFF_VALUES = '-U --unified --diff-filter -S -G'
const LOG = `${DIFF} --oneline --graph --all --decorate --decorate= --no-decorate --merges --no-merges --first-parent `
  + '--reverse --follow --branches --tags --remotes --date-order --topo-order --abbrev-commit --no-abbrev-commit '
  + '--left-right --no-walk'
const LOG_VALUES = `${DIFF_VALUES} -n --max-count --skip --since --after --until --before --author --grep --format `
  + '--pretty --date -L'

const reads = (flags: string, values: string, operands: 'paths' | 'none', numbers = false): OptionList => ({
  flags: wordList(flags), values: Object.fromEntries(wordList(values).map((name) => [name, 'text'])), operands, numbers,
})

/** Read-only uses of `git`. Revisions are treated as paths, since a name that leaves the workspace is neither. */
const SUBCOMMANDS: ReadonlyMap<string, OptionList> = new Map([
  ['status', reads(
    '-s -b -z -u -uno -uall -unormal --short --branch --long --porcelain --porcelain= --ignored --ignored= '
      + '--show-stash --untracked-files --untracked-files= --ahead-behind --no-renames',
    '', 'paths',
  )],
  ['diff', reads(DIFF, DIFF_VALUES, 'paths', true)],
  ['log', reads(LOG, LOG_VALUES, 'paths', true)],
  ['show', reads(LOG, LOG_VALUES, 'paths', true)],
  ['shortlog', reads('-s -n -e --all --no-merges', '--since', 'paths')],
  ['branch', reads(
    '-a -r -v -vv --all --remotes --list --show-current --merged --no-merged --no-color',
    '--sort --format --contains --no-contains --points-at', 'none',
  )],
  ['tag', reads('-l --list -n', '--sort --format --contains --points-at --merged', 'none')],
  ['rev-parse', reads(
    '-q --quiet --short --short= --abbrev-ref --show-toplevel --git-dir --is-inside-work-tree --verify --show-prefix '
      + '--show-cdup',
    '', 'paths',
  )],
  ['rev-list', reads('--count --all --no-merges --first-parent --left-right', '-n --max-count --since', 'paths', true)],
  ['ls-files', reads(
    '-c -d -m -o -s -u -z -t --cached --deleted --modified --others --stage --unmerged --exclude-standard '
      + '--error-unmatch --full-name',
    '-x --exclude', 'paths',
  )],
  ['ls-tree', reads('-r -d -t -l -z --name-only --full-tree --full-name', '', 'paths')],
  ['merge-base', reads('--is-ancestor --all --fork-point', '', 'paths')],
  // `--dirty` is excluded, because it runs the filters of the repository.
  ['describe', reads('--tags --always --long --all --abbrev=', '--match', 'paths')],
  ['remote', reads('-v --verbose', '', 'none')],
  ['reflog', reads('--all --oneline', '-n', 'none', true)],
  ['count-objects', reads('-v -H', '', 'none')],
  ['blame', reads(
    '-w -e -s -l -t -f -n -M -C --porcelain --line-porcelain --show-name --show-number --show-email',
    '-L --since --date', 'paths',
  )],
  ['grep', {
    ...reads(
      '-n -i -l -L -c -w -v -h -H -E -F -G -P -I -o -p -W -z --line-number --ignore-case --files-with-matches '
        + '--name-only --files-without-match --count --word-regexp --invert-match --extended-regexp --fixed-strings '
        + '--perl-regexp --cached --heading --break --color --color= --no-color --only-matching --full-name',
      '-A -B -C -e -m --max-depth --max-count', 'paths', true,
    ),
    operands: 'text-then-paths', firstGivenBy: ['-e'],
  }],
  ['stash list', reads('--oneline', '-n --format --date', 'none', true)],
  ['cat-file', reads('-p -t -s -e', '', 'paths')],
  ['worktree list', reads('-v -z --porcelain --verbose', '', 'none')],
  ['for-each-ref', reads('', '--count --sort --format --points-at --contains --merged', 'paths')],
  ['show-ref', reads(
    '-d -s -q --head --heads --tags --dereference --hash --abbrev --abbrev= --verify --quiet', '', 'paths',
  )],
  ['name-rev', reads('--tags --name-only --always', '', 'paths')],
  // A second operand would be written.
  ['symbolic-ref', { ...reads('-q --quiet --short', '', 'paths'), maxOperands: 1 }],
  ['cherry', reads('-v --abbrev --abbrev=', '', 'paths')],
  ['version', reads('', '', 'none')],
  ['config', reads(
    '-l -z --list --name-only --show-origin --show-scope --local --global --system',
    '--get --get-all --get-regexp', 'none',
  )],
])

/** Subcommands that may read files outside the workspace. */
const OUTSIDE: ReadonlySet<string> = new Set(['config'])
/** Subcommands that have subcommands of their own. */
const TWO_WORD_SUBCOMMANDS: ReadonlySet<string> = new Set(['stash', 'worktree'])

/** Format placeholders that run a program to verify signatures. */
const SIGNATURE = /%G|%\(signature/

/** Global options. */
const HARMLESS: ReadonlySet<string> = new Set(['--no-pager', '-P', '--no-optional-locks', '--literal-pathspecs'])

export interface GitUse extends KnownUse {
  readonly subcommand: string
  readonly outside: boolean
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
  return use && { ...use, subcommand, outside: OUTSIDE.has(subcommand) }
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
/**
 * Disables every setting by which a repository could make a read-only `git` command run another program. `names` are
 * the settings of the repository. Throws InputInvalid if a setting cannot be disabled.
 */
export function hardenedGit(words: readonly Word[], names: readonly string[]): readonly Word[] {
  const at = subcommandAt(words.slice(1)) + 1
  const subcommand = words[at]!
  const text = (value: string): Word => ({ text: value })
  return [
    ...['git', ...safeOptions(names)].map(text),
    subcommand, ...(GUARDS.get(subcommand.text) ?? []).map(text), ...words.slice(at + 1),
  ]
}
