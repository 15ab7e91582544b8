import { ToolError } from '@bulkhead/contract'
import type { JsonObject } from '@bulkhead/kit/json'
import { type Word, wordList } from '../parse/plan.ts'
import type { AnalyzedCommand } from '../policy/analyze-command.ts'
import type { ResolvedStep } from '../policy/analyze-steps.ts'
import { innermost } from '../policy/wrappers.ts'
import { type BashRuntime, PlanRunner } from './plan-runner.ts'
import { Transcript } from './transcript.ts'

const NO_TERMINAL = 'There is no terminal.'

const hints = (programs: string, hint: string): readonly (readonly [string, string])[] =>
  wordList(programs).map((name) => [name, hint])

/** Programs that always need a terminal. */
const ALWAYS: ReadonlyMap<string, string> = new Map([
  ...hints('vi vim nvim nano emacs pico joe micro helix hx', 'Use the tools edit and write instead.'),
  ...hints('less more most', 'Use the tool read, or cat or head.'),
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

interface RunOptions {
  /** Absolute. */
  readonly workspace: string
  /** Relative to the workspace. */
  readonly folder: string
  readonly timeoutMs: number
}

/** Runs a plan directly, and everything else with a shell in an OS sandbox. */
export async function runCommand(
  text: string, analyzed: AnalyzedCommand, runtime: BashRuntime, { workspace, folder, timeoutMs }: RunOptions,
): Promise<JsonObject> {
  const transcript = new Transcript()
  if (analyzed.kind !== 'plan') {
    const args = ['--noprofile', '--norc', '-c', text]
    transcript.add(await runtime.shell.pipe([{ cmd: 'bash', args }], { cwd: folder, timeoutMs, wall: 'work' }), false)
    return transcript.result()
  }
  refuseInteractive(analyzed.steps)
  await new PlanRunner(runtime, workspace, performance.now() + timeoutMs).run(analyzed.steps, transcript)
  return transcript.result()
}

function refuseInteractive(steps: readonly ResolvedStep[]): void {
  for (const step of steps) {
    if (step.kind === 'group' || step.kind === 'loop') refuseInteractive(step.steps)
    if (step.kind !== 'run') continue
    step.stages.forEach((stage, index) => {
      const hint = interactiveHint(innermost(stage.words), index > 0 || stage.stdin !== undefined)
      if (hint !== undefined) throw new ToolError('InputInvalid', hint)
    })
  }
}
