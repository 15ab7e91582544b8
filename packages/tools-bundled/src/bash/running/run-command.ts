import { ToolError, type JsonObject, type Runtime } from '@bulkhead/contract'
import type { JudgedCommand, JudgedStep } from '../judging/judge-command.ts'
import { innermost } from '../judging/judge-words.ts'
import type { REQUIRES } from '../manifest.ts'
import { interactiveHint } from './interactive.ts'
import { stageCommand } from './stage-argv.ts'
import { Transcript } from './transcript.ts'

export type BashRuntime = Runtime<typeof REQUIRES>

type RunStep = Extract<JudgedStep, { kind: 'run' }>
type FolderStep = Extract<JudgedStep, { kind: 'cd' }>

export interface RunOptions {
  /** Relative to the workspace. */
  readonly folder: string
  readonly timeoutMs: number
}

/** As shells say it. */
const NOT_FOUND = 127

/** As the broker says no. */
interface Refused {
  readonly code?: unknown
  readonly data?: { readonly cmd?: unknown }
  readonly message: string
}

/** Runs what was judged: a plan as it stands, everything else by a shell inside a sandbox of the system. */
export async function runCommand(
  text: string, judged: JudgedCommand, runtime: BashRuntime, { folder, timeoutMs }: RunOptions,
): Promise<JsonObject> {
  const transcript = new Transcript()
  const until = performance.now() + timeoutMs
  if (judged.kind !== 'plan') {
    const args = ['--noprofile', '--norc', '-c', text]
    transcript.add(await runtime.shell.pipe([{ cmd: 'bash', args }], { cwd: folder, timeoutMs, wall: 'work' }), false)
    return transcript.result()
  }
  refuseInteractive(judged.steps)
  for (const step of judged.steps) {
    if (transcript.timedOut || (step.when !== 'always' && (step.when === 'success') !== transcript.succeeded)) continue
    const left = Math.max(1, Math.ceil(until - performance.now()))
    if (step.kind === 'run') await runStep(step, runtime, transcript, left)
    else if (!await changeFolder(step, runtime, transcript)) break
  }
  return transcript.result()
}

async function runStep(step: RunStep, runtime: BashRuntime, transcript: Transcript, timeoutMs: number): Promise<void> {
  const { stages, uses, folder, negated } = step
  try {
    const commands = await Promise.all(stages.map((stage, index) => stageCommand(stage, uses[index], folder, runtime.fs)))
    const wall = uses.every((use) => use !== undefined) ? { wall: 'read' } as const : {}
    transcript.add(await runtime.shell.pipe(commands, { cwd: folder, timeoutMs, ...wall }), negated)
  } catch (error) {
    const { code, data, message } = error as Refused
    if (code !== 'NotFound') throw error
    transcript.fail(data?.cmd === undefined ? 1 : NOT_FOUND, message)
  }
}

/** What was to happen there must not happen elsewhere. */
async function changeFolder({ path, folder }: FolderStep, { fs }: BashRuntime, transcript: Transcript): Promise<boolean> {
  const found = await fs.stat(folder).catch((error: unknown) => {
    if ((error as { readonly code?: unknown }).code === 'NotFound') return undefined
    throw error
  })
  if (found?.kind === 'directory') {
    transcript.succeed()
    return true
  }
  transcript.fail(1, `cd: ${path}: ${found === undefined ? 'No such folder' : 'Not a folder'}. What follows was not run.`)
  return false
}

function refuseInteractive(steps: readonly JudgedStep[]): void {
  for (const step of steps) {
    if (step.kind === 'cd') continue
    step.stages.forEach((stage, index) => {
      const hint = interactiveHint(innermost(stage.words), index > 0 || stage.stdin !== undefined)
      if (hint !== undefined) throw new ToolError('InputInvalid', hint)
    })
  }
}
