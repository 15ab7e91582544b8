import {
  type FileReader, type FileWriter, type PipeResult, type Shell, type ShellStage, ToolError,
} from '@bulkhead/contract'
import { failed } from '../model/git-errors.ts'
import { openRepository } from '../model/git-repository.ts'

export interface CloneRuntime {
  readonly fs: FileReader & FileWriter
  readonly shell: Shell
}

/** What the clone will have. */
export interface CloneRefs {
  /** The commit to check out. */
  readonly commit: string
  /** The branch to check out. Absent: no branch. */
  readonly branch: string | undefined
  /** Hashes by full name: branches of the remote, and tags. */
  readonly refs: ReadonlyMap<string, string>
}

/** Symbolic links become files, and names that other systems read as `.git` are refused. */
const SETTINGS = ['core.symlinks=false', 'core.protectHFS=true', 'core.protectNTFS=true', 'transfer.fsckObjects=true']
  .flatMap((setting) => ['-c', setting])
/** Around every command that fills it. */
export const CLONE_WALL = 'work'
const STEP_MS = 120_000
/** Largest file that can be written at once. */
const PART_BYTES = 8 * 1024 * 1024
const REMOTE = 'refs/remotes/origin/'

/** A new repository in the workspace, filled step by step by local git commands without a network. */
export class LocalClone {
  readonly #runtime: CloneRuntime
  readonly #path: string
  readonly #as: NonNullable<ShellStage['as']>
  #options: readonly string[] = []
  #begun = false

  constructor(runtime: CloneRuntime, path: string, as: NonNullable<ShellStage['as']>) {
    this.#runtime = runtime
    this.#path = path
    this.#as = as
  }

  async create(branch: string | undefined): Promise<void> {
    this.#begun = true
    const args = ['init', '--quiet', '--template=', ...(branch === undefined ? [] : [`--initial-branch=${branch}`])]
    await this.#pipe('create a repository', [{ cmd: 'git', args: [...args, '--', this.#argument] }], '.')
    this.#options = [...(await openRepository(this.#runtime, this.#path, this.#as)).options, ...SETTINGS]
    await this.#git('store a setting', ['config', 'core.symlinks', 'false'])
  }

  /** Stores a pack after checking every object in it. */
  async addPack(pack: Buffer, shallow: readonly string[]): Promise<void> {
    if (shallow.length > 0) {
      // First, because the check of the pack must know which parents are missing.
      const stage = { cmd: 'tee', args: ['.git/shallow'], stdout: 'nothing' as const, input: `${shallow.join('\n')}\n` }
      await this.#pipe('store the depth', [stage])
    }
    const names: string[] = []
    for (let at = 0; at < pack.length; at += PART_BYTES) {
      names.push(`.bulkhead-pack-${names.length}`)
      await this.#runtime.fs.write(`${this.#path}/${names.at(-1)}`, pack.subarray(at, at + PART_BYTES))
    }
    const index = { cmd: 'git', args: [...this.#options, 'index-pack', '--stdin', '--strict'] }
    await this.#pipe('check the objects', [{ cmd: 'cat', args: ['--', ...names] }, { ...index, stdout: 'nothing' }])
    for (const name of names) await this.#runtime.fs.remove(`${this.#path}/${name}`)
  }

  /** Copies from another repository of the workspace. `source` is absolute. */
  async fetchFile(source: string, refspecs: readonly string[], depth: number | undefined): Promise<void> {
    await this.#git('copy the repository', [
      '-c', 'protocol.file.allow=always', 'fetch', '--quiet', '--no-tags', '--no-recurse-submodules',
      '--no-auto-maintenance', '--no-write-fetch-head', ...(depth === undefined ? [] : [`--depth=${depth}`]),
      '--', new URL(`file://${encodeURI(source)}`).href, ...refspecs,
    ])
  }

  /** The hash of a revision. undefined if there is none. */
  async resolve(revision: string): Promise<string | undefined> {
    const args = [...this.#options, 'rev-parse', '--verify', '--quiet', '--end-of-options', revision]
    const { stdout, exits } = await this.#run([{ cmd: 'git', args }], this.#path)
    return exits[0]?.exitCode === 0 ? stdout.trim() : undefined
  }

  /** Stores refs and the remote, checks out the files, and verifies the commit. */
  async finish({ commit, branch, refs }: CloneRefs, url: string): Promise<void> {
    const known = [...refs].map(([name, hash]) => [name.replace(/^refs\/heads\//, REMOTE), hash] as const)
    const own = branch === undefined ? [] : [[`refs/heads/${branch}`, commit] as const]
    const updates = [...known, ...own].map(([name, hash]) => `update ${name} ${hash}\n`).join('')
    await this.#git('store the branches', ['update-ref', '--stdin'], updates)
    await this.#git('name the remote', ['remote', 'add', '--', 'origin', url])
    if (branch !== undefined) {
      await this.#git('name the upstream', ['branch', '--quiet', `--set-upstream-to=origin/${branch}`, branch])
    }
    const target = branch === undefined ? ['--detach', commit] : [branch]
    await this.#git('check out the files', ['checkout', '--quiet', '--force', '--no-recurse-submodules', ...target])
    if (await this.resolve('HEAD^{commit}') !== commit) {
      throw new ToolError('ToolExecutionFailed', `The commit that was checked out is not ${commit}.`)
    }
  }

  /** The path as an argument of a command in the workspace. */
  get #argument(): string {
    return this.#path.startsWith('/') ? this.#path : `./${this.#path}`
  }

  /** Never rejects. After a cancellation nothing runs any more, so the folder stays. */
  async remove(): Promise<void> {
    if (this.#begun) await this.#run([{ cmd: 'rm', args: ['-rf', '--', this.#argument] }], '.').catch(() => undefined)
  }

  #git(what: string, args: readonly string[], input?: string): Promise<PipeResult> {
    return this.#pipe(what, [{ cmd: 'git', args: [...this.#options, ...args], ...(input !== undefined && { input }) }])
  }

  async #pipe(what: string, stages: readonly ShellStage[], folder = this.#path): Promise<PipeResult> {
    const result = await this.#run(stages, folder)
    if (result.exits.every(({ exitCode }) => exitCode === 0)) return result
    throw failed(what, result)
  }

  #run(stages: readonly ShellStage[], folder: string): Promise<PipeResult> {
    return this.#runtime.shell.pipe(
      stages.map((stage) => ({ ...stage, as: this.#as })),
      { cwd: folder, wall: CLONE_WALL, isolated: true, quiet: true, timeoutMs: STEP_MS },
    )
  }
}
