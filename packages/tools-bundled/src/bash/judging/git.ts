import type { Word } from '../reading/plan.ts'
import { wordList } from '../reading/word-list.ts'
import type { KnownUse, OptionList } from './option-list.ts'
import { knownUse } from './option-list.ts'

const DIFF = '-p -u -s -w -b -M -C -z --patch --no-patch --stat --stat= --numstat --shortstat --name-only --name-status --summary '
  + '--cached --staged --color --color= --no-color --word-diff --word-diff= --check --raw --minimal --patience --histogram '
  + '--ignore-all-space --ignore-space-change --exit-code --quiet --no-renames --find-renames --merge-base --full-index --abbrev '
  + '--abbrev= --compact-summary'
const DIFF_VALUES = '-U --unified --diff-filter -S -G'
const LOG = `${DIFF} --oneline --graph --all --decorate --decorate= --no-decorate --merges --no-merges --first-parent --reverse `
  + '--follow --branches --tags --remotes --date-order --topo-order --abbrev-commit --no-abbrev-commit --left-right --no-walk'
const LOG_VALUES = `${DIFF_VALUES} -n --max-count --skip --since --after --until --before --author --grep --format --pretty --date -L`

const reads = (flags: string, values: string, operands: 'paths' | 'none', numbers = false): OptionList => ({
  flags: wordList(flags), values: Object.fromEntries(wordList(values).map((name) => [name, 'text'])), operands, numbers,
})

/** Ways to use `git` that only read. Revisions count as paths: a name that leads out of the workspace is neither. */
const SUBCOMMANDS: ReadonlyMap<string, OptionList> = new Map([
  ['status', reads(
    '-s -b -v -z -u -uno -uall -unormal --short --branch --long --porcelain --porcelain= --ignored --ignored= --show-stash '
      + '--untracked-files --untracked-files= --ahead-behind --no-renames',
    '', 'paths',
  )],
  ['diff', reads(DIFF, DIFF_VALUES, 'paths')],
  ['log', reads(LOG, LOG_VALUES, 'paths', true)],
  ['show', reads(LOG, LOG_VALUES, 'paths', true)],
  ['shortlog', reads('-s -n -e --all --no-merges', '--since', 'paths')],
  ['branch', reads(
    '-a -r -v -vv --all --remotes --list --show-current --merged --no-merged --no-color', '--sort --format', 'none',
  )],
  ['tag', reads('-l --list -n', '--sort --format', 'none')],
  ['rev-parse', reads(
    '-q --quiet --short --short= --abbrev-ref --show-toplevel --git-dir --is-inside-work-tree --verify --show-prefix --show-cdup',
    '', 'paths',
  )],
  ['rev-list', reads('--count --all --no-merges --first-parent --left-right', '-n --max-count --since', 'paths', true)],
  ['ls-files', reads(
    '-c -d -m -o -s -u -z -t --cached --deleted --modified --others --stage --unmerged --exclude-standard --error-unmatch --full-name',
    '-x --exclude', 'paths',
  )],
  ['ls-tree', reads('-r -d -t -l -z --name-only --full-tree --full-name', '', 'paths')],
  ['merge-base', reads('--is-ancestor --all --fork-point', '', 'paths')],
  ['describe', reads('--tags --always --dirty --long --all --abbrev=', '--match', 'paths')],
  ['remote', reads('-v --verbose', '', 'none')],
  ['reflog', reads('--all --oneline', '-n', 'none', true)],
  ['count-objects', reads('-v -H', '', 'none')],
])

/** In a format: what is signed is checked by another program. */
const SIGNATURE = /%G/

/** Before a subcommand. */
const HARMLESS: ReadonlySet<string> = new Set(['--no-pager', '-P', '--no-optional-locks', '--literal-pathspecs'])

export interface GitUse extends KnownUse {
  readonly subcommand: string
}

/** undefined when it may do more than read: also in another folder, where another repository may say what runs. */
export function gitUse(args: readonly Word[], folder: string): GitUse | undefined {
  const at = args.findIndex(({ text }) => !HARMLESS.has(text))
  const subcommand = args[at]?.text ?? ''
  const list = SUBCOMMANDS.get(subcommand)
  if (list === undefined || folder !== '.' || args.some(({ text, pattern }) => pattern !== undefined || SIGNATURE.test(text))) {
    return undefined
  }
  const use = knownUse(args.slice(at + 1), list)
  return use && { ...use, subcommand }
}

const QUIET_CONFIG = [
  'core.fsmonitor=false', 'core.pager=cat', 'core.hooksPath=/dev/null', 'safe.bareRepository=explicit', 'diff.submodule=short',
  'log.showSignature=false', 'gpg.program=false', 'gpg.ssh.program=false', 'gpg.x509.program=false',
]
const SHOWS_CONTENT: ReadonlySet<string> = new Set(['diff', 'log', 'show'])

/** The same command with everything off by which a repository could make `git` run another program while it reads. */
export function hardenedGit(words: readonly Word[]): readonly Word[] {
  const text = (value: string): Word => ({ text: value })
  const at = words.findIndex(({ text: name }, index) => index > 0 && !HARMLESS.has(name))
  const subcommand = words[at]!
  return [
    ...['git', '--no-pager', '--no-optional-locks', ...QUIET_CONFIG.flatMap((entry) => ['-c', entry])].map(text),
    subcommand,
    ...(SHOWS_CONTENT.has(subcommand.text) ? [text('--no-ext-diff'), text('--no-textconv')] : []),
    ...words.slice(at + 1),
  ]
}
