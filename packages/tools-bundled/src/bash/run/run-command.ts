import { ToolError } from '@bulkhead/contract'
import type { JsonObject } from '@bulkhead/kit/json'
import type { JudgedCommand } from '../policy/judge-command.ts'
import { innermost } from '../policy/judge-words.ts'
import type { JudgedStep } from '../policy/judged-steps.ts'
import { interactiveHint } from './interactive.ts'
import { PlanRunner, type BashRuntime } from './plan-runner.ts'
import { Transcript } from './transcript.ts'

export type { BashRuntime }

export interface RunOptions {
  /** Absolute. */
  readonly workspace: string
  /** Relative to the workspace. */
  readonly folder: string
  readonly timeoutMs: number
}

/** Runs what was judged: a plan as it stands, everything else by a shell inside a sandbox of the system. */
export async function runCommand(
  text: string, judged: JudgedCommand, runtime: BashRuntime, { workspace, folder, timeoutMs }: RunOptions,
): Promise<JsonObject> {
  const transcript = new Transcript()
  if (judged.kind !== 'plan') {
    const args = ['--noprofile', '--norc', '-c', text]
    transcript.add(await runtime.shell.pipe([{ cmd: 'bash', args }], { cwd: folder, timeoutMs, wall: 'work' }), false)
    return transcript.result()
  }
  refuseInteractive(judged.steps)
  await new PlanRunner(runtime, workspace, performance.now() + timeoutMs).run(judged.steps, transcript)
  return transcript.result()
}

function refuseInteractive(steps: readonly JudgedStep[]): void {
  for (const step of steps) {
    if (step.kind === 'group' || step.kind === 'each') refuseInteractive(step.steps)
    if (step.kind !== 'run') continue
    step.stages.forEach((stage, index) => {
      const hint = interactiveHint(innermost(stage.words), index > 0 || stage.stdin !== undefined)
      if (hint !== undefined) throw new ToolError('InputInvalid', hint)
    })
  }
}
