import type { Word } from '../reading/plan.ts'
import type { KnownUse, OptionList } from './option-list.ts'
import { knownUse } from './option-list.ts'

const DIFF_FLAGS = [
  '-p', '-u', '-s', '-w', '-b', '--patch', '--no-patch', '--stat', '--stat=', '--numstat', '--shortstat', '--name-only', '--name-status', '--summary',
  '--cached', '--staged', '--color', '--color=', '--no-color', '--word-diff', '--word-diff=', '--check', '--raw', '--minimal', '--patience',
  '--ignore-all-space', '--ignore-space-change', '--exit-code', '--quiet', '--no-renames', '--find-renames', '-M', '-C', '--merge-base', '-z',
  '--full-index', '--abbrev', '--abbrev=', '--compact-summary', '--histogram',
]
const DIFF_VALUES = { '-U': 'text', '--unified': 'text', '--diff-filter': 'text', '-S': 'text', '-G': 'text' } as const
const LOG_FLAGS = [
  ...DIFF_FLAGS, '--oneline', '--graph', '--all', '--decorate', '--decorate=', '--no-decorate', '--merges', '--no-merges', '--first-parent', '--reverse',
  '--follow', '--branches', '--tags', '--remotes', '--date-order', '--topo-order', '--abbrev-commit', '--no-abbrev-commit', '--left-right', '--no-walk',
]
const LOG_VALUES = {
  ...DIFF_VALUES, '-n': 'text', '--max-count': 'text', '--skip': 'text', '--since': 'text', '--after': 'text', '--until': 'text', '--before': 'text',
  '--author': 'text', '--grep': 'text', '--format': 'text', '--pretty': 'text', '--date': 'text', '-L': 'text',
} as const

/** Ways to use `git` that only read. Revisions count as paths: a name that leads out of the workspace is neither. */
const SUBCOMMANDS: ReadonlyMap<string, OptionList> = new Map<string, OptionList>([
  ['status', {
    flags: ['-s', '-b', '-v', '-z', '-u', '-uno', '-uall', '-unormal', '--short', '--branch', '--long', '--porcelain', '--porcelain=', '--ignored', '--ignored=', '--show-stash', '--untracked-files', '--untracked-files=', '--ahead-behind', '--no-renames'],
    operands: 'paths',
  }],
  ['diff', { flags: DIFF_FLAGS, values: DIFF_VALUES, operands: 'paths' }],
  ['log', { flags: LOG_FLAGS, values: LOG_VALUES, numbers: true, operands: 'paths' }],
  ['show', { flags: LOG_FLAGS, values: LOG_VALUES, numbers: true, operands: 'paths' }],
  ['shortlog', { flags: ['-s', '-n', '-e', '--all', '--no-merges'], values: { '--since': 'text' }, operands: 'paths' }],
  ['branch', { flags: ['-a', '-r', '-v', '-vv', '--all', '--remotes', '--list', '--show-current', '--merged', '--no-merged', '--no-color'], values: { '--sort': 'text', '--format': 'text' }, operands: 'none' }],
  ['tag', { flags: ['-l', '--list', '-n'], values: { '--sort': 'text', '--format': 'text' }, operands: 'none' }],
  ['rev-parse', { flags: ['--short', '--short=', '--abbrev-ref', '--show-toplevel', '--git-dir', '--is-inside-work-tree', '--verify', '--show-prefix', '--show-cdup', '--quiet', '-q'], operands: 'paths' }],
  ['rev-list', { flags: ['--count', '--all', '--no-merges', '--first-parent', '--left-right'], values: { '-n': 'text', '--max-count': 'text', '--since': 'text' }, numbers: true, operands: 'paths' }],
  ['ls-files', { flags: ['-c', '-d', '-m', '-o', '-s', '-u', '-z', '-t', '--cached', '--deleted', '--modified', '--others', '--stage', '--unmerged', '--exclude-standard', '--error-unmatch', '--full-name'], values: { '-x': 'text', '--exclude': 'text' }, operands: 'paths' }],
  ['ls-tree', { flags: ['-r', '-d', '-t', '-l', '-z', '--name-only', '--full-tree', '--full-name'], operands: 'paths' }],
  ['merge-base', { flags: ['--is-ancestor', '--all', '--fork-point'], operands: 'paths' }],
  ['describe', { flags: ['--tags', '--always', '--dirty', '--long', '--all', '--abbrev='], values: { '--match': 'text' }, operands: 'paths' }],
  ['remote', { flags: ['-v', '--verbose'], operands: 'none' }],
  ['reflog', { flags: ['--all', '--oneline'], values: { '-n': 'text' }, numbers: true, operands: 'none' }],
  ['count-objects', { flags: ['-v', '-H'], operands: 'none' }],
])

/** Before a subcommand. */
const HARMLESS: ReadonlySet<string> = new Set(['--no-pager', '-P', '--no-optional-locks', '--literal-pathspecs'])

export interface GitUse extends KnownUse {
  readonly subcommand: string
}

/** undefined when it may do more than read. Elsewhere than in the workspace's own folder another repository may decide what runs. */
export function gitUse(args: readonly Word[], folder: string): GitUse | undefined {
  const at = args.findIndex(({ text }) => !HARMLESS.has(text))
  const subcommand = args[at]?.text ?? ''
  const list = SUBCOMMANDS.get(subcommand)
  if (list === undefined || folder !== '.' || args.some(({ pattern }) => pattern !== undefined)) return undefined
  const use = knownUse(args.slice(at + 1), list)
  return use && { ...use, subcommand }
}

const QUIET_CONFIG = ['core.fsmonitor=false', 'core.pager=cat', 'core.hooksPath=/dev/null', 'safe.bareRepository=explicit', 'diff.submodule=short', 'log.showSignature=false']
const SHOWS_CONTENT: ReadonlySet<string> = new Set(['diff', 'log', 'show'])

/** The same command with everything off by which a repository could make `git` run another program while it reads. */
export function hardenedGit(words: readonly Word[]): readonly Word[] {
  const text = (value: string): Word => ({ text: value })
  const at = words.findIndex(({ text: name }, index) => index > 0 && !HARMLESS.has(name))
  const subcommand = words[at]!
  return [
    text('git'), text('--no-pager'), text('--no-optional-locks'), ...QUIET_CONFIG.flatMap((entry) => [text('-c'), text(entry)]), subcommand,
    ...(SHOWS_CONTENT.has(subcommand.text) ? [text('--no-ext-diff'), text('--no-textconv')] : []),
    ...words.slice(at + 1),
  ]
}
