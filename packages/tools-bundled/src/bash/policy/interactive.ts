import { ToolError } from '@bulkhead/contract'
import { type Word, wordList } from '../parse/plan.ts'
import type { ResolvedStep } from './resolve-steps.ts'
import { innermost } from './wrappers.ts'

/** Throws InputInvalid for a command that would wait for input. */
export function refuseInteractive(steps: readonly ResolvedStep[]): void {
  for (const step of steps) {
    if (step.kind !== 'run') continue
    step.stages.forEach((stage, index) => {
      const hint = interactiveHint(innermost(stage.words), index > 0 || stage.stdin !== undefined)
      if (hint !== undefined) throw new ToolError('InputInvalid', hint)
    })
  }
}

const NO_TERMINAL = 'There is no terminal.'

const hints = (programs: string, hint: string): readonly (readonly [string, string])[] =>
  wordList(programs).map((name) => [name, hint])

/** Programs that always need a terminal. */
const ALWAYS: ReadonlyMap<string, string> = new Map([
  ...hints('vi vim nvim nano emacs pico joe micro helix hx', 'Use the tools edit and write instead.'),
  ...hints('top htop btop atop watch', 'Use a command that runs once, such as `ps aux`.'),
  ...hints('tmux screen byobu', 'Run the command directly.'),
  ...hints(
    'telnet ftp passwd visudo ranger mc tig lazygit fzf dialog whiptail', 'Use a program that is not interactive.',
  ),
])

/** Programs that are interactive without arguments and input. */
const BARE: ReadonlyMap<string, string> = new Map([
  ...hints(
    'python python3 ipython node ruby irb php perl lua R ghci scala sqlite3 psql mysql mongosh redis-cli bc gdb',
    'Pass a file, or an expression with -c or -e.',
  ),
  ...hints('bash sh zsh fish dash', 'Run the command directly.'),
])

/** Subcommands of git with an interactive mode. */
const PATCH_SUBCOMMANDS: ReadonlySet<string> = new Set(['add', 'checkout', 'restore', 'reset', 'stash'])
/** Options of `git commit` that avoid the editor. */
const MESSAGE: ReadonlySet<string> = new Set(wordList(
  '-m -am -sm -asm -sam -F -C --message --file --reuse-message --no-edit --fixup --squash --dry-run --help',
))

/** Why an interactive command is refused, and what to do instead. Undefined if it is not interactive. */
function interactiveHint([program, ...args]: readonly Word[], hasInput: boolean): string | undefined {
  const name = program?.text ?? ''
  const bareHint = args.length === 0 && !hasInput ? BARE.get(name) : undefined
  const hint = ALWAYS.get(name) ?? bareHint ?? (name === 'git' ? gitHint(args.map(({ text }) => text)) : undefined)
  return hint === undefined ? undefined : `\`${name}\` would wait for input. ${NO_TERMINAL} ${hint}`
}

function gitHint([subcommand = '', ...args]: readonly string[]): string | undefined {
  const has = (...names: readonly string[]): boolean => args.some((arg) => names.includes(arg))
  if (subcommand === 'rebase' && has('-i', '--interactive')) return 'Rebase without -i.'
  if (PATCH_SUBCOMMANDS.has(subcommand) && has('-p', '-i', '--patch', '--interactive')) return 'Name the files instead.'
  const hasMessage = args.some(
    (arg) => MESSAGE.has(arg) || /^(?:-m.|--(?:message|file|fixup|squash|reuse-message)=)/.test(arg),
  )
  return subcommand === 'commit' && !hasMessage ? 'Pass the message with -m.' : undefined
}
