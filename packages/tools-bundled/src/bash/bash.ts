import { defineExtension, type FromJsonSchema, type ManifestInput } from '@bulkhead/contract'
import type { JsonObject } from '@bulkhead/kit/json'
import { BUNDLED } from '../model/bundled-extension.ts'
import { insidePath } from '../model/paths.ts'
import { analyzeCommand, readBashArguments } from './policy/analyze-command.ts'
import { type BashRuntime, REQUIRES } from './run/plan-runner.ts'
import { runCommand } from './run/run-command.ts'

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

async function runBash(args: BashArgs, runtime: BashRuntime): Promise<JsonObject> {
  const { command, cwd, timeout_ms: timeoutMs = MAX_TIMEOUT_MS } = args
  const workspace = ABSOLUTE.test(`${command}\n${cwd ?? ''}`) ? await findWorkspace(runtime) : NO_WORKSPACE
  // The broker rejects a folder outside the workspace.
  const folder = insidePath(cwd ?? '.', { workspace, folder: '.' }) ?? cwd!
  return runCommand(command, analyzeCommand(command, { workspace, folder }), runtime, { workspace, folder, timeoutMs })
}

async function findWorkspace({ shell }: BashRuntime): Promise<string> {
  // If the operator does not allow `pwd`, absolute paths count as outside.
  const { stdout } = await shell.pipe([{ cmd: 'pwd', args: ['-P'] }], { quiet: true })
    .catch(() => ({ stdout: NO_WORKSPACE }))
  return stdout.replace(/\n$/, '')
}
