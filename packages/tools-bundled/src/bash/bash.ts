import {
  BulkheadError, defineTool, type FromJsonSchema, type PipeOptions, SENSITIVE, type ShellStage,
} from '@bulkhead/contract'
import { errorCode } from '@bulkhead/kit/error-message'
import { isJsonObject } from '@bulkhead/kit/json'
import { insidePath, type Location } from '../model/paths.ts'
import { refuseInteractive } from './policy/interactive.ts'
import {
  type AnalyzedCommand, analyzeCommand, locationOf, readBashArguments, requestedCommands, shellArguments,
} from './policy/analyze-command.ts'
import { leavesWorkspace, operandsOf } from './policy/reading-commands.ts'
import { PROCESS_PROGRAMS } from './policy/reading-programs.ts'
import { innermost } from './policy/wrappers.ts'
import { type BashRuntime, PlanRunner, REQUIRES } from './run/plan-runner.ts'
import type { Needs } from './run/stopped.ts'
import { type CommandResult, OUTPUT_SCHEMA, Transcript } from './run/transcript.ts'

/** The maximum and the default, unless the operator sets others. The host ends commands in time. */
const MAX_TIMEOUT_MS = 120_000
/** Time to kill an overdue command and return its output. */
const CLEANUP_MS = 10_000

const INPUT_SCHEMA = {
  type: 'object',
  properties: {
    command: { type: 'string', minLength: 1, pattern: '\\S', description: 'The command line, in bash syntax.' },
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

type BashArgs = FromJsonSchema<typeof INPUT_SCHEMA>

export const tool = defineTool({
  label: 'Bash',
  description: 'Runs a command line in the workspace and returns stdout, stderr and the exit code. A line that only '
    + 'reads inside the workspace runs without approval. Other commands are approved one by one, and can write to '
    + 'the workspace only. If `note` says that a wall stopped the command, run the same line again to ask for more. '
    + 'There is no terminal: interactive programs fail. What it starts is ended with it, so background processes do '
    + 'not keep running: start and use a server in one command. Of long output you get the beginning and the end; the '
    + 'whole is written to a file.',
  input: INPUT_SCHEMA,
  output: OUTPUT_SCHEMA,
  requires: REQUIRES,
  gated: true,
  mode: 'local',
  kind: 'execute',
  timeoutMs: MAX_TIMEOUT_MS + CLEANUP_MS,
  maxOutput: '200KB',
  execute: runBash,
  // Used by hosts without an arguments reader. The workspace is unknown here, so absolute paths count as outside.
  deriveApprovalKey: (args) => readBashArguments(args, { workspace: NO_WORKSPACE }).key,
})

/** Contains no files, so that every absolute path is outside. */
const NO_WORKSPACE = '/dev/null/nowhere'
/**
 * The possible start of an absolute path: a slash that does not follow a name, or that follows the letters of an
 * option.
 */
const ABSOLUTE = /(?:^|[^\w.)\]*?+@%~-])(?:-[\w-]*)?\//

/**
 * A line that only reads runs as it is written, in a shell behind the look wall. Of others, a plan runs command by
 * command and everything else in a shell, behind the work wall. A wall that the host chose replaces these.
 */
async function runBash(args: BashArgs, runtime: BashRuntime): Promise<CommandResult> {
  const { command, cwd, timeout_ms: timeoutMs } = args
  const isPlaced = ABSOLUTE.test(`${command}\n${cwd ?? ''}`) || cwd?.split('/').includes('..') === true
  const workspace = isPlaced ? await findWorkspace(runtime) : NO_WORKSPACE
  // The broker rejects a folder outside the workspace and the roots of the session.
  const folder = insidePath(cwd ?? '.', { workspace, folder: '.', roots: ['/'] }) ?? cwd!
  const location = locationOf(workspace, folder)
  const analyzed = analyzeCommand(command, location)
  const { look } = analyzed.analysis.command
  const transcript = new Transcript(needsOf(analyzed, location))
  if (analyzed.kind === 'plan' && look === undefined) {
    refuseInteractive(analyzed.steps)
    await new PlanRunner(runtime, timeoutMs).run(analyzed.steps, transcript)
  } else {
    if (analyzed.kind === 'plan' && analyzed.analysis.onlyReads === true) await checkInside(analyzed, runtime)
    const as = requestedCommands(command, analyzed)
    const wall = look === undefined ? 'work' : 'look'
    const options = { cwd: folder, wall, save: true, ...(timeoutMs !== undefined && { timeoutMs }) } as const
    await runWhole({ cmd: 'bash', args: shellArguments(command), as }, options, runtime, transcript)
  }
  return transcript.result()
}

/** Runs the text in `bash`, or in `sh` where that is missing. */
async function runWhole(
  stage: ShellStage, options: PipeOptions, { shell }: BashRuntime, transcript: Transcript,
): Promise<void> {
  try {
    transcript.add(await shell.pipe([stage], options).catch((error: unknown) => {
      if (errorCode(error) !== 'NotFound' || stage.cmd === 'sh') throw error
      return shell.pipe([{ ...stage, cmd: 'sh', args: (stage.args ?? []).slice(-2) }], options)
    }), false)
  } catch (error) {
    // The same line asks for a wider wall next time.
    if (!isWithoutLook(error)) throw error
    transcript.refuse('look', error.message)
  }
}

const isWithoutLook = (error: unknown): error is BulkheadError => BulkheadError.is(error)
  && error.code === 'CapabilityUnavailable' && isJsonObject(error.data) && error.data['wall'] === 'look'

/** Without a wall nothing else keeps links from leading a simple command out of the workspace. */
async function checkInside({ steps }: Extract<AnalyzedCommand, { kind: 'plan' }>, { fs }: BashRuntime): Promise<void> {
  const files = steps.flatMap((step) => step.kind === 'cd' ? [] : step.stages.flatMap(({ words, stdin }) => [
    ...operandsOf(innermost(words)).map(({ text }) => text),
    ...(stdin !== undefined && 'file' in stdin ? [stdin.file] : []),
  ]).map((file) => file.startsWith('/') ? file : `${step.folder}/${file}`))
  // The host asked about a file that is named like one with credentials.
  for (const file of files.filter((path) => SENSITIVE.find(`/${path}`, '/') === undefined)) {
    await fs.stat(file).catch((error: unknown) => {
      // The program itself reports missing files.
      if (errorCode(error) === 'CapabilityDenied') throw error
    })
  }
}

function needsOf(analyzed: AnalyzedCommand, location: Location): Needs {
  const words = analyzed.kind === 'unread' ? [] : analyzed.parts.commands.map((command) => innermost(command.words))
  return {
    outside: words.flatMap(operandsOf).some(({ text }) => leavesWorkspace(text, location)),
    processes: words.some(([program]) => PROCESS_PROGRAMS.has(program?.text ?? '')),
  }
}

async function findWorkspace({ shell }: BashRuntime): Promise<string> {
  // If the operator does not allow `pwd`, absolute paths count as outside.
  const { stdout } = await shell.pipe([{ cmd: 'pwd', args: ['-P'] }], { quiet: true })
    .catch(() => ({ stdout: NO_WORKSPACE }))
  return stdout.replace(/\n$/, '')
}

export { readBashArguments as readArguments } from './policy/analyze-command.ts'
