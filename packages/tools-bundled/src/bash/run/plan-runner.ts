import {
  type ManifestInput, type PipeOptions, type PipeResult, type Runtime, type ShellStage, ToolError,
} from '@bulkhead/contract'
import { errorCode } from '@bulkhead/kit/error-message'
import { openRepository } from '../../model/git-repository.ts'
import type { Location } from '../../model/paths.ts'
import type { ExpansionPart, Word } from '../parse/plan.ts'
import {
  type FolderStep, type ResolvedLoop, type ResolvedStep, resolveSteps, type RunStep,
} from '../policy/analyze-steps.ts'
import { Findings } from '../policy/findings.ts'
import { passesTextToShell } from '../policy/wrappers.ts'
import { checkedInput, expandPattern } from './file-names.ts'
import { stageCommand, type WordSources } from './stage-argv.ts'
import { Transcript } from './transcript.ts'

/** The capabilities of the tool. */
export const REQUIRES = {
  fs: { read: ['{workspace}'], write: ['{workspace}'] },
  net: { hosts: ['*'] },
  shell: [{ cmd: '*', args: [{ rest: true }] }],
} as const satisfies NonNullable<ManifestInput['tools'][number]['requires']>

export type BashRuntime = Runtime<typeof REQUIRES>

/** The exit code that shells use for a missing program. */
const NOT_FOUND = 127
const MAX_ITERATIONS = 1_000

interface BrokerError {
  readonly code?: unknown
  readonly data?: { readonly cmd?: unknown }
  readonly message: string
}

/** The output and variables of running steps. */
interface Scope {
  readonly transcript: Transcript
  readonly variables: ReadonlyMap<string, string>
  /** True inside a command substitution, whose output is not shown. */
  readonly isInner: boolean
}

/** Runs the steps of a plan in order. */
export class PlanRunner {
  readonly #runtime: BashRuntime
  readonly #location: Location
  /** Deadline, compared with `performance.now()`. */
  readonly #until: number

  constructor(runtime: BashRuntime, location: Location, until: number) {
    this.#runtime = runtime
    this.#location = location
    this.#until = until
  }

  async run(steps: readonly ResolvedStep[], transcript: Transcript): Promise<void> {
    await this.#steps(steps, { transcript, variables: new Map(), isInner: false })
  }

  async #steps(steps: readonly ResolvedStep[], scope: Scope): Promise<void> {
    const { transcript } = scope
    for (const step of steps) {
      if (transcript.timedOut || (step.when !== 'always' && (step.when === 'success') !== transcript.succeeded)) {
        continue
      }
      if (step.kind === 'run') await this.#step(step, scope)
      else if (step.kind === 'group') await this.#steps(step.steps, scope)
      else if (step.kind === 'loop') await this.#loop(step, scope)
      else if (!await this.#changeFolder(step, transcript)) break
    }
  }

  async #step(step: RunStep, scope: Scope): Promise<void> {
    const { transcript } = scope
    const begin = performance.now()
    try {
      transcript.add(await this.#pipeline(step, scope), step.negated)
    } catch (error) {
      const { code, data, message } = error as BrokerError
      if (code !== 'NotFound') throw error
      transcript.fail(data?.cmd === undefined ? 1 : NOT_FOUND, message)
    }
    if (step.timed === true) transcript.note(`\nreal\t${((performance.now() - begin) / 1_000).toFixed(3)}s\n`)
  }

  /** Runs a pipeline. Splits it before each `xargs`, because file names from stdin must be checked first. */
  async #pipeline({ stages, uses, folder }: RunStep, scope: Scope): Promise<PipeResult> {
    const sources = this.#sources(folder, scope)
    const commands = await Promise.all(stages.map((stage, index) => stageCommand(stage, uses[index], sources)))
    const reads = uses.every((use) => use !== undefined && use.outside !== true)
    const wall = reads ? 'look' : stages.some(({ words }) => passesTextToShell(words)) ? 'work' : undefined
    const options: PipeOptions = { cwd: folder, ...(wall && { wall }) }
    let rest = commands
    for (const [index, use] of uses.entries()) {
      if (use?.stdinArgs === undefined) continue
      const before = rest.slice(0, rest.length - (commands.length - index))
      const result = await this.#pipe(before, { ...options, quiet: true })
      scope.transcript.note(result.stderr)
      if (result.timedOut) return result
      if (result.truncated) throw new ToolError('InputInvalid', 'xargs has too much input. Use a narrower search.')
      const input = await checkedInput(result.stdout, use.stdinArgs, folder, this.#runtime.fs, sources.note)
      rest = commands.slice(index).with(0, { ...commands[index]!, input })
    }
    return this.#pipe(rest, { ...options, ...(scope.isInner ? { quiet: true } : {}) })
  }

  #pipe(commands: Parameters<BashRuntime['shell']['pipe']>[0], options: PipeOptions): Promise<PipeResult> {
    const timeoutMs = Math.max(1, Math.ceil(this.#until - performance.now()))
    return this.#runtime.shell.pipe(commands, { ...options, timeoutMs })
  }

  async #loop(step: ResolvedLoop, scope: Scope): Promise<void> {
    const { transcript, variables } = scope
    const values = await this.#values(step, scope)
    if (values.length > MAX_ITERATIONS) {
      throw new ToolError(
        'InputInvalid', `The loop has more than ${MAX_ITERATIONS} iterations. Use a narrower pattern.`,
      )
    }
    transcript.succeed()
    for (const value of values) {
      if (transcript.timedOut) return
      await this.#steps(step.steps, { ...scope, variables: new Map([...variables, [step.name, value]]) })
    }
  }

  async #values({ over, folder }: ResolvedLoop, scope: Scope): Promise<readonly string[]> {
    const { fs } = this.#runtime
    if ('file' in over) {
      const text = await fs.readText(over.file.startsWith('/') ? over.file : `${folder}/${over.file}`)
      // Like `read`, skips a last line without a newline.
      return text.split('\n').slice(0, -1).map((line) => line.trim())
    }
    const values: string[] = []
    for (const word of over) {
      if (word.expansion !== undefined) values.push(...await this.#expand(word, folder, scope))
      else if (word.pattern === undefined) values.push(word.text)
      else values.push(...(await expandPattern(word, folder, fs)).map(({ path }) => path))
    }
    return values
  }

  #sources(folder: string, scope: Scope): WordSources {
    return {
      folder, fs: this.#runtime.fs,
      expand: (word) => this.#expand(word, folder, scope),
      note: (text) => scope.transcript.note(text),
      repository: (as) => openRepository(this.#runtime, folder, as, { asUser: true }),
    }
  }

  async #expand({ expansion }: Word, folder: string, scope: Scope): Promise<readonly string[]> {
    const texts: string[] = []
    for (const part of expansion!.parts) texts.push(await this.#part(part, folder, scope))
    const text = texts.join('')
    return expansion!.split ? text.split(/[ \t\n]+/).filter((word) => word !== '') : [text]
  }

  async #part(part: ExpansionPart, folder: string, { transcript, variables }: Scope): Promise<string> {
    switch (part.kind) {
      case 'text':
        return part.text
      case 'status':
        return String(transcript.exitCode)
      case 'variable':
        return variables.get(part.name)
          ?? (await this.#read({ cmd: 'printenv', args: [part.name] }, folder)).replace(/\n$/, '')
      case 'output': {
        const inner = new Transcript()
        const steps = resolveSteps(part.steps, { ...this.#location, folder }, new Findings())
        await this.#steps(steps, { transcript: inner, variables, isInner: true })
        transcript.note(inner.stderr)
        return inner.stdout.replace(/(?<!\n)\n+$/, '')
      }
    }
  }

  async #read(command: ShellStage, folder: string): Promise<string> {
    return (await this.#pipe([command], { cwd: folder, wall: 'look', quiet: true })).stdout
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
