import { defineExtension, type FromJsonSchema } from '@bulkhead/contract'
import type { JsonObject } from '@bulkhead/kit/json'
import { insidePath } from './policy/ground.ts'
import { judgeCommand, readBashArguments } from './policy/judge-command.ts'
import { INPUT_SCHEMA, manifest, MAX_TIMEOUT_MS, REQUIRES } from './manifest.ts'
import { runCommand, type BashRuntime } from './run/run-command.ts'

type BashArgs = FromJsonSchema<typeof INPUT_SCHEMA>

export const bash = {
  manifest,
  module: defineExtension({
    tools: {
      bash: {
        input: INPUT_SCHEMA,
        requires: REQUIRES,
        execute: runBash,
        // For a host that does not read these arguments itself. The workspace is not known here: less counts as inside it.
        deriveApprovalKey: (args) => readBashArguments(args, { workspace: NOWHERE }).key,
      },
    },
  }),
}

/** A path that nothing lies in. */
const NOWHERE = '/dev/null/nowhere'
/** What may be the beginning of an absolute path: a slash with no part of a name before it, or behind the letters of an option. */
const ABSOLUTE = /(?:^|[^\w.)\]*?+@%~-])(?:-[\w-]*)?\//

async function runBash(args: BashArgs, runtime: BashRuntime): Promise<JsonObject> {
  const { command, cwd, timeout_ms: timeoutMs = MAX_TIMEOUT_MS } = args
  const workspace = ABSOLUTE.test(`${command}\n${cwd ?? ''}`) ? await findWorkspace(runtime) : NOWHERE
  // The broker refuses a folder outside.
  const folder = insidePath(cwd ?? '.', { workspace, folder: '.' }) ?? cwd!
  return runCommand(command, judgeCommand(command, { workspace, folder }), runtime, { workspace, folder, timeoutMs })
}

async function findWorkspace({ shell }: BashRuntime): Promise<string> {
  // Where a ceiling allows other commands only, less counts as inside the workspace.
  const { stdout } = await shell.pipe([{ cmd: 'pwd', args: ['-P'] }], { quiet: true }).catch(() => ({ stdout: NOWHERE }))
  return stdout.replace(/\n$/, '')
}
