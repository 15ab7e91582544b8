import { type CallNeed, type FileReader, type ShellStage, type ShellTarget, ToolError } from '@bulkhead/contract'
import type { Repository } from '../../model/git-repository.ts'
import { isPlain, READ_ONLY_BUILTINS, type Stage, type Target, type Word } from '../parse/plan.ts'
import { hardenedFind } from '../policy/expression-uses.ts'
import { hardenedGit } from '../policy/git.ts'
import type { ReadOnlyUse } from '../policy/known-uses.ts'
import { innermost } from '../policy/wrappers.ts'
import { checkInside, expandPattern, keepInside, refuseOption } from './file-names.ts'

/** Adds options so that the files a read-only program reads cannot make it run programs or follow links. */
async function hardenedWords(
  words: readonly Word[], use: ReadOnlyUse, repository: () => Promise<Repository>,
): Promise<readonly Word[]> {
  const inner = innermost(words)
  const safer = await hardened(inner, use, repository)
  return safer === inner ? words : [...words.slice(0, words.length - inner.length), ...safer]
}

async function hardened(
  inner: readonly Word[], use: ReadOnlyUse, repository: () => Promise<Repository>,
): Promise<readonly Word[]> {
  if (use.opensRepository === true) return hardenedGit(inner, use, await repository())
  const [program] = inner
  switch (program!.text) {
    case 'find':
      return hardenedFind(inner)
    case 'diff':
      return [program!, ...use.split!.options, { text: '--no-dereference' }, ...use.split!.rest]
    default:
      return inner
  }
}

/** Replaces builtins with a program that can be started. Arguments are passed as `$@`, so no shell parses them. */
function executableWords([program, ...args]: readonly Word[]): readonly Word[] {
  const { text } = program!
  if (text === '[' && args.at(-1)?.text === ']') return [{ text: 'test' }, ...args.slice(0, -1)]
  if (!READ_ONLY_BUILTINS.has(text)) return [program!, ...args]
  const shell = ['bash', '--noprofile', '--norc', '-p', '-c', `${text} "$@"`, 'bash']
  return [...shell.map((word) => ({ text: word })), ...args]
}

/** The command as requested, before hardening. */
export type RequestedCommand = NonNullable<ShellStage['as']>

type Files = Pick<FileReader, 'list' | 'stat'>

/** How to evaluate patterns and expansions. */
export interface WordSources {
  readonly folder: string
  readonly fs: Files
  /** Evaluates an expansion. */
  readonly expand: (word: Word) => Promise<readonly string[]>
  /** Adds a message to stderr. */
  readonly note: (text: string) => void
  /** Rejects if the repository leads out of the workspace, or cannot be used without running its programs. */
  readonly repository: (as: RequestedCommand) => Promise<Repository>
}

/** The command to start for a stage, with all patterns and expansions evaluated. */
export async function stageCommand(
  stage: Stage, use: ReadOnlyUse | undefined, sources: WordSources,
): Promise<ShellStage> {
  const program = innermost(stage.words)[0]!.text
  const requested = programAndArguments(stage, await expandWords(executableWords(stage.words), use, program, sources))
  const as = { cmd: requested[0]!, args: requested.slice(1) }
  const safer = use === undefined ? stage.words : await hardenedWords(stage.words, use, () => sources.repository(as))
  const [cmd, ...args] = safer === stage.words
    ? requested
    : programAndArguments(stage, await expandWords(executableWords(safer), use, program, sources))
  if (use !== undefined) await checkPaths(use, sources)
  const { stdin } = stage
  return {
    cmd: cmd!,
    args,
    as,
    stdout: targetOf(stage.stdout),
    stderr: targetOf(stage.stderr),
    ...(stdin === undefined ? {} : { input: 'file' in stdin ? { path: stdin.file } : stdin.text }),
  }
}

/** Uses `env` for variables and for programs with a path, because the broker starts programs by bare name only. */
function programAndArguments({ assignments }: Stage, argv: readonly string[]): readonly string[] {
  const program = argv[0]!
  if (assignments.length === 0 && !program.includes('/')) return argv
  if (program.includes('=')) {
    const why = `The program name "${program}" contains "=".`
    throw new ToolError('InputInvalid', `${why} Such a program cannot run by path or with variables.`)
  }
  return ['env', '--', ...assignments.map(([name, value]) => `${name}=${value}`), ...argv]
}

/** The capability that a stage requires. Includes the arguments if all of them are literal. */
export function programNeed(stage: Stage): CallNeed {
  const words = executableWords(stage.words)
  const isNamed = stage.assignments.length === 0 && !words[0]!.text.includes('/')
  if (!words.every(isPlain) || (!isNamed && words[0]!.text.includes('='))) {
    return { kind: 'shell', subject: isNamed ? words[0]!.text : 'env' }
  }
  const [program, ...args] = programAndArguments(stage, words.map(({ text }) => text))
  return { kind: 'shell', subject: program!, args }
}

async function expandWords(
  words: readonly Word[], use: ReadOnlyUse | undefined, program: string, sources: WordSources,
): Promise<readonly string[]> {
  const { folder, fs } = sources
  const argv: string[] = []
  for (const word of words) {
    if (word.expansion !== undefined) argv.push(...await expansionWords(word, use, program, sources))
    else if (word.pattern === undefined) argv.push(word.text)
    else {
      for (const { path, linked } of await expandPattern(word, folder, fs)) {
        refuseOption(path, `The pattern ${word.text} matches the file "${path}"`, `Write ./${word.text} instead.`)
        if (linked && use !== undefined) await checkInside(path, folder, fs)
        argv.push(path)
      }
    }
  }
  return argv
}

/** Programs without options that have effects. */
const IGNORES_OPTIONS: ReadonlySet<string> = new Set(['echo', 'printf', 'expr', 'test', '[', 'true', 'false'])

async function expansionWords(
  word: Word, use: ReadOnlyUse | undefined, program: string, sources: WordSources,
): Promise<readonly string[]> {
  const { folder, fs, note } = sources
  const texts = await sources.expand(word)
  if (!IGNORES_OPTIONS.has(program)) {
    for (const text of texts) refuseOption(text, `The value of ${word.text} is "${text}"`, 'Name the files instead.')
  }
  if (use?.paths.includes(word) !== true) return texts
  if (word.expansion!.split) return keepInside(texts, folder, fs, note)
  // Removing the word would change the meaning of the command.
  for (const text of texts) await checkInside(text, folder, fs)
  return texts
}

/** Checks that links do not lead a read-only command out of the workspace. */
async function checkPaths({ paths }: ReadOnlyUse, { folder, fs }: WordSources): Promise<void> {
  for (const word of paths) {
    const { text } = word
    if (isPlain(word) && text !== '-' && text !== '/dev/null') await checkInside(text, folder, fs)
  }
}

const targetOf = (target: Target): ShellTarget =>
  typeof target === 'string' ? target : { path: target.file, append: target.append }
