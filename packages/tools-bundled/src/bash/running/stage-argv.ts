import { ToolError, type FileReader, type ShellStage, type ShellTarget } from '@bulkhead/contract'
import { hardenedGit } from '../judging/git.ts'
import { innermost } from '../judging/judge-words.ts'
import type { ReadingUse } from '../judging/known-uses.ts'
import type { Stage, Target, Word } from '../reading/plan.ts'
import { expandPattern } from './expand-pattern.ts'

type Files = Pick<FileReader, 'list' | 'stat'>

/** What to start for a stage, with the names that patterns stand for in their places. */
export async function stageCommand(stage: Stage, use: ReadingUse | undefined, folder: string, fs: Files): Promise<ShellStage> {
  const words = use === undefined ? stage.words : hardened(stage.words)
  const [cmd, ...args] = programAndArguments(stage, await expand(words, use, folder, fs))
  if (use !== undefined) await provePaths(use, folder, fs)
  const { stdin } = stage
  return {
    cmd: cmd!,
    args,
    stdout: targetOf(stage.stdout),
    stderr: targetOf(stage.stderr),
    ...(stdin === undefined ? {} : { input: 'file' in stdin ? { path: stdin.file } : stdin.text }),
  }
}

/** A program that only reads shall not be made to do more by what it reads. */
function hardened(words: readonly Word[]): readonly Word[] {
  const inner = innermost(words)
  return inner[0]!.text === 'git' ? [...words.slice(0, words.length - inner.length), ...hardenedGit(inner)] : words
}

/** Variables, and programs by their path, are the affair of `env`: commands are started by their bare names alone. */
function programAndArguments({ assignments }: Stage, argv: readonly string[]): readonly string[] {
  const program = argv[0]!
  if (assignments.length === 0 && !program.includes('/')) return argv
  if (program.includes('=')) {
    throw new ToolError('InputInvalid', `The program "${program}" has a = in its name and cannot be run by a path or with variables.`)
  }
  return ['env', '--', ...assignments.map(([name, value]) => `${name}=${value}`), ...argv]
}

async function expand(
  words: readonly Word[], use: ReadingUse | undefined, folder: string, fs: Files,
): Promise<readonly string[]> {
  const argv: string[] = []
  for (const word of words) {
    if (word.pattern === undefined) {
      argv.push(word.text)
      continue
    }
    for (const { path, linked } of await expandPattern(word, folder, fs)) {
      if (path.startsWith('-')) {
        const why = `The pattern ${word.text} stands for the file "${path}", which would be taken for an option.`
        throw new ToolError('InputInvalid', `${why} Write ./${word.text} instead.`)
      }
      if (linked && use !== undefined) await proveInside(path, folder, fs)
      argv.push(path)
    }
  }
  return argv
}

/** A command that was let through because it only reads in the workspace must not be led out of it by a link. */
async function provePaths({ paths }: ReadingUse, folder: string, fs: Files): Promise<void> {
  for (const { text, pattern } of paths) {
    if (pattern === undefined && text !== '-' && text !== '/dev/null') await proveInside(text, folder, fs)
  }
}

async function proveInside(path: string, folder: string, fs: Files): Promise<void> {
  try {
    await fs.stat(path.startsWith('/') ? path : `${folder}/${path}`)
  } catch (error) {
    // What is not there, or is no file, is the program's to complain about.
    if ((error as { readonly code?: unknown }).code === 'CapabilityDenied') throw error
  }
}

const targetOf = (target: Target): ShellTarget =>
  typeof target === 'string' ? target : { path: target.file, append: target.append }
