import { defineExtension, ToolError, type FromJsonSchema, type ManifestInput } from '@bulkhead/contract'
import type { JsonObject } from '@bulkhead/kit/json'
import { BUNDLED } from '../model/bundled-extension.ts'
import { insidePath } from '../model/paths.ts'
import { type Word, wordList } from './parse/plan.ts'
import { analyzeCommand, locationOf, readBashArguments } from './policy/analyze-command.ts'
import type { ResolvedStep } from './policy/analyze-steps.ts'
import { innermost } from './policy/wrappers.ts'
import { type BashRuntime, PlanRunner, REQUIRES } from './run/plan-runner.ts'
import { Transcript } from './run/transcript.ts'

/** The maximum and the default. */
const MAX_TIMEOUT_MS = 120_000
/** Time to kill an overdue command and return its output. */
const CLEANUP_MS = 10_000

const INPUT_SCHEMA = {
  type: 'object',
  properties: {
    command: { type: 'string', minLength: 1, description: 'The command line, in bash syntax.' },
    timeout_ms: {
      type: 'integer', minimum: 1, maximum: MAX_TIMEOUT_MS,
      description: 'Timeout in milliseconds. Default: 120000.',
    },
    cwd: {
      type: 'string', minLength: 1,
      description: 'The working directory, inside the workspace. Default: the workspace.',
    },
    description: {
      type: 'string',
      description: 'The purpose of the command in a few words. Shown in approval prompts.',
    },
  },
  required: ['command'],
  additionalProperties: false,
} as const

const manifest = {
  ...BUNDLED,
  id: 'bash',
  tools: [{
    name: 'bash',
    label: 'Bash',
    description: 'Runs a command line in the workspace and returns stdout, stderr and the exit code. Pipelines, &&, '
      + '||, ;, quotes, globs, redirections to files of the workspace and here-documents run directly, without a '
      + 'shell. Each command is approved separately. Variables, substitutions and loops need a shell, which requires '
      + 'approval, so prefer plain commands. There is no terminal: interactive programs fail. What it starts is ended '
      + 'with it, so background processes do not keep running: start and use a server in one command. The timeout is '
      + 'at most 120 s. Output beyond 200 KB is written to a file.',
    inputSchema: INPUT_SCHEMA,
    outputSchema: {
      type: 'object',
      properties: {
        stdout: { type: 'string' },
        stderr: { type: 'string' },
        exit_code: { type: ['integer', 'null'] },
        signal: { type: 'string' },
        timed_out: { const: true },
        truncated: { const: true },
      },
      required: ['stdout', 'stderr', 'exit_code'],
    },
    requires: REQUIRES,
    gated: true,
    mode: 'local',
    kind: 'execute',
    timeoutMs: MAX_TIMEOUT_MS + CLEANUP_MS,
    maxOutput: '200KB',
  }],
} satisfies ManifestInput

type BashArgs = FromJsonSchema<typeof INPUT_SCHEMA>

export const bash = {
  manifest,
  module: defineExtension({
    tools: {
      bash: {
        input: INPUT_SCHEMA,
        requires: REQUIRES,
        execute: runBash,
        // Used by hosts without an arguments reader. The workspace is unknown here, so absolute paths count as outside.
        deriveApprovalKey: (args) => readBashArguments(args, { workspace: NO_WORKSPACE }).key,
      },
    },
  }),
}

/** Contains no files, so that every absolute path is outside. */
const NO_WORKSPACE = '/dev/null/nowhere'
/**
 * The possible start of an absolute path: a slash that does not follow a name, or that follows the letters of an
 * option.
 */
const ABSOLUTE = /(?:^|[^\w.)\]*?+@%~-])(?:-[\w-]*)?\//

/** Runs a plan directly, and everything else with a shell in an OS sandbox. */
async function runBash(args: BashArgs, runtime: BashRuntime): Promise<JsonObject> {
  const { command, cwd, timeout_ms: timeoutMs = MAX_TIMEOUT_MS } = args
  const isPlaced = ABSOLUTE.test(`${command}\n${cwd ?? ''}`) || cwd?.split('/').includes('..') === true
  const workspace = isPlaced ? await findWorkspace(runtime) : NO_WORKSPACE
  // The broker rejects a folder outside the workspace and the roots of the session.
  const folder = insidePath(cwd ?? '.', { workspace, folder: '.', roots: ['/'] }) ?? cwd!
  const location = locationOf(workspace, folder)
  const analyzed = analyzeCommand(command, location)
  const transcript = new Transcript()
  if (analyzed.kind === 'plan') {
    refuseInteractive(analyzed.steps)
    await new PlanRunner(runtime, location, performance.now() + timeoutMs).run(analyzed.steps, transcript)
  } else {
    const stage = { cmd: 'bash', args: ['--noprofile', '--norc', '-c', command] }
    transcript.add(await runtime.shell.pipe([stage], { cwd: folder, timeoutMs, wall: 'work' }), false)
  }
  return transcript.result()
}

async function findWorkspace({ shell }: BashRuntime): Promise<string> {
  // If the operator does not allow `pwd`, absolute paths count as outside.
  const { stdout } = await shell.pipe([{ cmd: 'pwd', args: ['-P'] }], { quiet: true })
    .catch(() => ({ stdout: NO_WORKSPACE }))
  return stdout.replace(/\n$/, '')
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
