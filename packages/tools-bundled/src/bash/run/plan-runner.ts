import type { ManifestInput, Runtime } from '@bulkhead/contract'
import { errorCode } from '@bulkhead/kit/error-message'
import type { FolderStep, ResolvedStep, RunStep } from '../policy/resolve-steps.ts'
import { stageCommand } from './stage-argv.ts'
import type { Transcript } from './transcript.ts'

/** The capabilities of the tool. */
export const REQUIRES = {
  fs: { read: ['{workspace}'], write: ['{workspace}'] },
  net: { hosts: ['*'] },
  shell: [{ cmd: '*', args: [{ rest: true }] }],
} as const satisfies NonNullable<ManifestInput['tools'][number]['requires']>

export type BashRuntime = Runtime<typeof REQUIRES>

/** The exit code that shells use for a missing program. */
const NOT_FOUND = 127

interface BrokerError {
  readonly code?: unknown
  readonly data?: { readonly cmd?: unknown }
  readonly message: string
}

/** Runs the steps of a plan in order: what was analyzed is what runs. */
export class PlanRunner {
  readonly #runtime: BashRuntime
  /** Deadline, compared with `performance.now()`. Absent: that of the call. */
  readonly #until: number | undefined

  constructor(runtime: BashRuntime, timeoutMs: number | undefined) {
    this.#runtime = runtime
    this.#until = timeoutMs === undefined ? undefined : performance.now() + timeoutMs
  }

  async run(steps: readonly ResolvedStep[], transcript: Transcript): Promise<void> {
    for (const step of steps) {
      if (transcript.timedOut || (step.when !== 'always' && (step.when === 'success') !== transcript.succeeded)) {
        continue
      }
      if (step.kind === 'run') await this.#step(step, transcript)
      else if (!await this.#changeFolder(step, transcript)) break
    }
  }

  async #step({ stages, folder, negated }: RunStep, transcript: Transcript): Promise<void> {
    const { shell, fs } = this.#runtime
    try {
      const commands = await Promise.all(stages.map((stage) => stageCommand(stage, folder, fs)))
      const left = this.#until === undefined ? {}
        : { timeoutMs: Math.max(1, Math.ceil(this.#until - performance.now())) }
      transcript.add(await shell.pipe(commands, { cwd: folder, wall: 'work', save: true, ...left }), negated)
    } catch (error) {
      const { code, data, message } = error as BrokerError
      if (code !== 'NotFound') throw error
      transcript.fail(data?.cmd === undefined ? 1 : NOT_FOUND, message)
    }
  }

  /** Returns false if the folder does not exist. Later steps must not run in another folder. */
  async #changeFolder({ path, folder }: FolderStep, transcript: Transcript): Promise<boolean> {
    const found = await this.#runtime.fs.stat(folder).catch((error: unknown) => {
      if (errorCode(error) === 'NotFound') return undefined
      throw error
    })
    if (found?.kind === 'directory') {
      transcript.succeed()
      return true
    }
    transcript.fail(
      1, `cd: ${path}: ${found === undefined ? 'No such folder' : 'Not a folder'}. The commands after it did not run.`,
    )
    return false
  }
}
