import { type PipeResult, ToolError } from '@bulkhead/contract'

type Fault = ConstructorParameters<typeof ToolError>[0]

/** What git writes for faults of the caller, and what to tell the caller instead. */
const KNOWN: readonly (readonly [form: RegExp, code: Fault, message: string])[] = [
  [
    /bad revision '(.+?)(?:\^\{commit\})?'/, 'NotFound',
    'The repository has no revision "$1". List commits with the action log, and branches with branch.',
  ],
  [
    /^fatal: path '(.+)' (?:does not exist in|exists on disk, but not in) '([^'\n]{1,300})'/m, 'NotFound',
    '"$1" does not exist in the revision "$2". Pass a path relative to the root of the repository.',
  ],
  [
    /pathspec ':\(literal\)(.+)' did not match any file/s, 'NotFound',
    'There is no file "$1" to add. Nothing was added. A path is no pattern; pass "." for all files.',
  ],
  [
    /^fatal: '(.+)' is not a valid branch name/m, 'InputInvalid',
    '"$1" is not a valid name of a branch. Leave out spaces, "..", "~", "^", ":", "?", "*" and "[".',
  ],
  [
    /a branch named '(.+)' already exists/i, 'InputInvalid',
    'The branch "$1" exists already. Pass "switch": true to switch to it.',
  ],
  [
    /unmerged files|unresolved conflict/, 'InputInvalid',
    'Files have conflicts. Resolve them, stage the files with the action add, then commit.',
  ],
  [/cannot switch branch while /, 'InputInvalid', 'A merge is not finished. Commit it first.'],
  [
    /files would be overwritten by checkout:\n\t(.+?)\n(?!\t)/s, 'InputInvalid',
    'Files have changes that git would overwrite: $1. Nothing was changed. Commit them first.',
  ],
  [/not our ref ([0-9a-f]+)/, 'NotFound', 'The repository has no commit $1. Check it, or leave out "commit".'],
  [
    /Unable to create '(.+\.lock)': File exists/, 'ResourceBusy',
    'Another git process uses the repository, or one has crashed. Wait, or remove "$1" if none runs.',
  ],
  [
    /loose object .+ is corrupt|object file .+ is empty/, 'ToolExecutionFailed',
    'The repository is damaged: $&. Find out more with "git fsck".',
  ],
]

/** Why a git command failed. */
export function failed(what: string, { stderr, timedOut }: Pick<PipeResult, 'stderr' | 'timedOut'>): ToolError {
  if (timedOut) return new ToolError('ToolExecutionFailed', `git took too long to ${what}. Name fewer files.`)
  return knownFault(stderr) ?? new ToolError('ToolExecutionFailed', `git could not ${what}: ${reasonIn(stderr)}.`)
}

/** The error for a message of git that has a known cause. */
export function knownFault(stderr: string): ToolError | undefined {
  for (const [form, code, message] of KNOWN) {
    const [found, ...parts] = form.exec(stderr) ?? []
    if (found === undefined) continue
    const texts = [found, ...parts].map((text) => text.replaceAll('\n\t', ', ').slice(0, MOST_CHARS))
    return new ToolError(code, message.replaceAll(/\$(&|\d)/g, (_, part: string) => texts[Number(part) || 0] ?? ''))
  }
  return undefined
}

/** Whether a branch has no commit yet. */
export const isUnborn = ({ stderr }: Pick<PipeResult, 'stderr'>): boolean =>
  /does not have any commits yet/.test(stderr)

/** Why git did not open the repository of a folder. `cure`: what to pass instead. */
export function noRepository(folder: string, stderr: string, cure: string): ToolError {
  if (/not a git repository/.test(stderr)) {
    const what = `"${folder}" does not belong to a git repository inside the workspace.`
    return new ToolError('NotFound', `${what} ${cure}`)
  }
  if (/cannot use bare repository/.test(stderr)) {
    return new ToolError(
      'InputInvalid', `"${folder}" is a bare repository, which has no files to work with. Clone it with repo_clone, and `
        + 'pass the folder of the clone as `path`.',
    )
  }
  const what = `git cannot use the repository of "${folder}": ${reasonIn(stderr)}.`
  return new ToolError('InputInvalid', `${what} Repair it, then try again.`)
}

const MOST_CHARS = 500

/** The first lines of standard error, as part of a sentence. */
const reasonIn = (stderr: string): string =>
  stderr.split('\n').filter((line) => line.trim() !== '' && !line.startsWith('hint:')).slice(0, 5)
    .map((line) => line.trim().replace(/^(?:fatal|error): /, '')).join(' ').slice(0, MOST_CHARS).replace(/\.$/, '')
    || 'it gave no reason'
