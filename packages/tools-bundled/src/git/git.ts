import {
  defineTool, type ManifestInput, type PipeResult, type CommandAs, type Runtime, ToolError,
} from '@bulkhead/contract'
import type { JsonObject } from '@bulkhead/kit/json'
import { failed, isUnborn } from '../model/git-errors.ts'
import { openRepository, type Repository } from '../model/git-repository.ts'
import {
  checkArguments, type GitArgs, INPUT_SCHEMA, readGitArguments, repositoryPath, writtenCommand,
} from './git-arguments.ts'
import {
  BRANCH_FORMAT, BRANCH_LINES, COMMIT_FORMAT, COMMIT_LINES, MESSAGE_LINES, readBranches, readCommits, readShownCommit,
  readStatus, WHOLE_FORMAT,
} from './read-output.ts'

const REQUIRES = {
  fs: { read: ['{workspace}'], write: ['{workspace}'] },
  shell: [{ cmd: 'git', args: [{ rest: true }] }],
} as const satisfies NonNullable<ManifestInput['tools'][number]['requires']>
const ENV = ['GIT_AUTHOR_NAME', 'GIT_AUTHOR_EMAIL'] as const
const TIMEOUT_MS = 60_000
const RUN_MS = 40_000

type GitRuntime = Runtime<typeof REQUIRES, (typeof ENV)[number]>

export const tool = defineTool({
  label: 'Git',
  description: 'Works with a git repository of the workspace: status, diff, log, show, add, commit, and branch '
    + '(list, create, switch). Returns structured results; of a long list the first entries and the `last` ones, and '
    + 'a file has all. Hooks, filters, signing and every program that the settings of a repository name do not run; '
    + 'use bash if the project needs them. Nothing is fetched or pushed.',
  input: INPUT_SCHEMA,
  requires: REQUIRES,
  env: ENV,
  gated: true,
  mode: 'safe_write',
  kind: 'execute',
  timeoutMs: TIMEOUT_MS,
  maxEntries: 1000,
  maxOutput: '256KB',
  execute: runGit,
  // Used by hosts without an arguments reader. The workspace is unknown here, so absolute paths count as outside.
  deriveApprovalKey: (args) => readGitArguments(args, { workspace: '/dev/null/nowhere' }).key,
})

async function runGit(args: GitArgs, runtime: GitRuntime): Promise<JsonObject> {
  checkArguments(args)
  const as = writtenCommand(args)
  const repository = await openRepository(runtime, args.path ?? '.', as, { reliesOnWall: true })
  return new GitRun(runtime, repository, as).run(args)
}

const NO_PROGRAMS = ['--no-ext-diff', '--no-textconv']
const OWN_STATUS = ['--branch', '--untracked-files=normal', '--ignore-submodules=dirty']
const LOG_COUNT = 20
/** Lines of the end of a long list. */
const LAST = 20
/** Values of the attribute `filter` without which files are stored as they are. */
const NO_FILTER: ReadonlySet<string> = new Set(['unspecified', 'unset', 'set'])

interface PipeParts {
  readonly settings?: readonly string[]
  readonly input?: string
  readonly save?: boolean
}

/** One call, in a checked repository. */
class GitRun {
  readonly #runtime: GitRuntime
  readonly #repository: Repository
  readonly #as: CommandAs

  constructor(runtime: GitRuntime, repository: Repository, as: CommandAs) {
    this.#runtime = runtime
    this.#repository = repository
    this.#as = as
  }

  async run(args: GitArgs): Promise<JsonObject> {
    const { revision, max_count = LOG_COUNT, staged } = args
    const paths = (args.paths ?? []).map((path) => repositoryPath(path, this.#repository.top))
    const rest = ['--', ...paths.map(literal)]
    switch (args.action) {
      case 'status':
        return this.#status()
      case 'diff': {
        const options = [...NO_PROGRAMS, '--ignore-submodules=dirty', ...(staged === true ? ['--cached'] : [])]
        const { stdout, truncated } = await this.#text('compare', ['diff', ...options, ...from(revision), ...rest])
        return { diff: stdout, ...(truncated && { truncated }) }
      }
      case 'log': {
        const log = (format: string): readonly string[] =>
          ['log', format, `--max-count=${max_count}`, '--no-show-signature', '--no-patch', ...from(revision), ...rest]
        const result = await this.#pipe('look', [log(COMMIT_FORMAT)])
        const { stdout, truncated } = isUnborn(result) ? result : succeeded('list commits', result)
        return { commits: readCommits(stdout), ...(truncated && await this.#rest('list commits', log(COMMIT_LINES))) }
      }
      case 'show':
        return this.#show(revision ?? 'HEAD', rest)
      case 'add':
        return this.#add(paths)
      case 'commit':
        return this.#commit(args.message!)
      case 'branch':
        return this.#branch(args)
    }
  }

  async #status(): Promise<JsonObject> {
    const what = 'read the status'
    const { stdout, truncated } = await this.#read(what, ['status', ...OWN_STATUS, '--porcelain=v2', '-z'])
    const rest = truncated ? await this.#rest(what, ['status', ...OWN_STATUS, '--porcelain=v1']) : {}
    return { ...readStatus(stdout, truncated), ...rest }
  }

  async #show(revision: string, rest: readonly string[]): Promise<JsonObject> {
    if (revision.includes(':')) {
      const { stdout, truncated } = await this.#text('read the file', ['cat-file', 'blob', revision])
      return stdout.includes('\0') ? { binary: true } : { content: stdout, ...(truncated && { truncated }) }
    }
    const head = ['show', '--no-show-signature', '--no-patch', ...from(`${revision}^{commit}`), '--']
    const found = await this.#read('show the commit', head.toSpliced(1, 0, WHOLE_FORMAT))
    const commit = readShownCommit(found.stdout)
    if (found.truncated) await this.#text('show the commit', head.toSpliced(1, 0, MESSAGE_LINES))
    const options = [...NO_PROGRAMS, '--format=', '--no-show-signature', '--diff-merges=first-parent', '--patch']
    const patch = await this.#text('show the commit', ['show', ...options, ...from(commit.hash), ...rest])
    return { ...commit, diff: patch.stdout, ...((found.truncated || patch.truncated) && { truncated: true }) }
  }

  async #add(paths: readonly string[]): Promise<JsonObject> {
    const { submodules } = this.#repository
    const isAtOrIn = (path: string, folder: string): boolean => path === folder || path.startsWith(`${folder}/`)
    const named = paths.find((path) => submodules.some((submodule) => isAtOrIn(path, submodule)))
    if (named !== undefined) {
      const why = `"${named}" belongs to a submodule, in which git would run with other settings.`
      throw new ToolError('InputInvalid', `${why} Nothing was added. Use bash.`)
    }
    const left = submodules.filter((submodule) => paths.some((path) => path === '.' || isAtOrIn(submodule, path)))
    const chosen = [...paths.map(literal), ...left.map((path) => `:(exclude,literal)${path}`)]
    await this.#requireUnfiltered(chosen)
    await this.#write('add the files', ['add', '--all', '--', ...chosen])
    return { ...await this.#status(), ...(left.length > 0 && { submodules_left_out: left }) }
  }

  /** Without its filter, a file would be stored in another form than the project expects. */
  async #requireUnfiltered(chosen: readonly string[]): Promise<void> {
    const listing = ['ls-files', '-z', '--modified', '--others', '--exclude-standard', '--', ...chosen]
    const { stdout, truncated } = await this.#pipe('look', [listing, ['check-attr', '-z', '--stdin', 'filter']])
    if (truncated) throw new ToolError('InputInvalid', 'Too many files to add at once. Add them folder by folder.')
    const fields = stdout.split('\0')
    const at = fields.findIndex((field, index) => index % 3 === 2 && !NO_FILTER.has(field))
    if (at < 0) return
    throw new ToolError(
      'InputInvalid', `A filter applies to "${fields[at - 2]}" (see .gitattributes), and filters do not run here. `
        + 'Nothing was added. Use bash for this file.',
    )
  }

  async #commit(message: string): Promise<JsonObject> {
    const options = ['--quiet', '--no-verify', '--no-gpg-sign', '--no-status', '--cleanup=whitespace', '--file=-']
    const identity = await this.#identity()
    const result = await this.#pipe('work', [['commit', ...options]], { settings: identity, input: message })
    if (result.exits[0]?.exitCode !== 0) throw commitError(result)
    const { stdout } = await this.#read('read the commit', ['log', COMMIT_FORMAT, '--max-count=1', '--no-patch', '--'])
    return { ...readCommits(stdout)[0] }
  }

  /** Without these variables, the settings of the repository apply. Those of the user are not read. */
  async #identity(): Promise<readonly string[]> {
    const values = await Promise.all(ENV.map((variable) => this.#runtime.env.get(variable).catch(() => undefined)))
    const given = ['name', 'email'].flatMap((key, index) => {
      const value = values[index]
      return value === undefined ? [] : [`author.${key}=${value}`, `committer.${key}=${value}`]
    })
    return ['user.useConfigOnly=true', ...given]
  }

  async #branch({ name, revision, switch: moves }: GitArgs): Promise<JsonObject> {
    if (name !== undefined && moves === true) await this.#switch(name, revision)
    else if (name !== undefined) {
      const start = revision === undefined ? [] : [revision]
      await this.#write('create the branch', ['branch', '--no-track', '--', name, ...start])
    }
    const list = (format: string): readonly string[] => ['for-each-ref', format, 'refs/heads']
    const { stdout, truncated } = await this.#read('list branches', list(BRANCH_FORMAT))
    return { branches: readBranches(stdout), ...(truncated && await this.#rest('list branches', list(BRANCH_LINES))) }
  }

  async #switch(name: string, revision: string | undefined): Promise<void> {
    const ref = `refs/heads/${name}`
    const exists = (await this.#pipe('look', [['show-ref', '--verify', '--quiet', '--', ref]])).exits[0]?.exitCode === 0
    if (exists && revision !== undefined) {
      throw new ToolError('InputInvalid', `The branch "${name}" exists already. Leave out "revision" to switch to it.`)
    }
    const start = revision === undefined ? [] : [revision]
    const how = exists ? [name] : ['--no-track', '--create', name, ...start]
    await this.#write('switch to the branch', ['switch', '--quiet', '--no-guess', '--no-recurse-submodules', ...how])
  }

  #read(what: string, args: readonly string[]): Promise<PipeResult> {
    return this.#pipe('look', [args]).then((result) => succeeded(what, result))
  }

  /** For a person to read: the host saves all of it. */
  #text(what: string, args: readonly string[]): Promise<PipeResult> {
    return this.#pipe('look', [args], { save: true }).then((result) => succeeded(what, result))
  }

  /** What a list does not have. It is read again, as lines that the host saves. */
  async #rest(what: string, args: readonly string[]): Promise<JsonObject> {
    const { stdout } = await this.#text(what, args)
    return { last: stdout.trimEnd().split('\n').slice(-LAST), truncated: true }
  }

  #write(what: string, args: readonly string[]): Promise<PipeResult> {
    return this.#pipe('work', [args]).then((result) => succeeded(what, result))
  }

  /** Each command reads the output of the one before it. */
  #pipe(
    wall: 'look' | 'work', commands: readonly (readonly string[])[],
    { settings = [], input, save = false }: PipeParts = {},
  ): Promise<PipeResult> {
    const { top, options } = this.#repository
    const own = [...options, ...settings.flatMap((setting) => ['-c', setting])]
    const stages = commands.map((args) => ({ cmd: 'git', args: [...own, ...args], as: this.#as }))
    const [first, ...others] = stages
    return this.#runtime.shell.pipe(
      [{ ...first!, ...(input !== undefined && { input }) }, ...others],
      { cwd: top, wall, isolated: true, quiet: true, save, timeoutMs: RUN_MS },
    )
  }
}

/** A path is never read as a pattern. */
const literal = (path: string): string => `:(literal)${path}`

/** A revision is never read as an option. */
const from = (revision: string | undefined): readonly string[] =>
  revision === undefined ? [] : ['--end-of-options', revision]

function succeeded(what: string, result: PipeResult): PipeResult {
  if (result.exits[0]?.exitCode === 0 || (result.truncated && !result.timedOut)) return result
  throw failed(what, result)
}

function commitError(result: PipeResult): ToolError {
  if (/who you are|no (?:name|email) was given|empty ident/i.test(result.stderr)) {
    return new ToolError(
      'InputInvalid', 'The author of the commit is not known. Set GIT_AUTHOR_NAME and GIT_AUTHOR_EMAIL for the host, '
        + 'or run "git config user.name NAME" and "git config user.email EMAIL" in the repository.',
    )
  }
  if (/nothing (?:added )?to commit|no changes added/.test(result.stdout)) {
    return new ToolError('InputInvalid', 'Nothing is staged. Stage files with the action add, then commit.')
  }
  return failed('commit', { ...result, stderr: result.stderr || result.stdout })
}

export { readGitArguments as readArguments } from './git-arguments.ts'
